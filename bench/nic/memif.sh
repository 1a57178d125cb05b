#!/bin/bash
# bench/nic/memif.sh [BUILD [ROUNDS]]: the software NIC's loopback against DPDK's memif (copy mode) between the same
# two cores, in turn: ours by bench_nic, the peer by two dpdk-testpmd. Prints both and the ratio, by the clock.
# On a busy machine the clock says little: read it beside the load, which is printed too.
set -u
build=${1:-build/release}
rounds=${2:-5}
pmd=$(command -v dpdk-testpmd) || { echo "memif: no dpdk-testpmd here (apt-get install dpdk-dev): no peer"; exit 0; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"; kill $(jobs -p) 2>/dev/null' EXIT
huge=--no-huge # huge pages where there are enough for two processes
[ "$(awk '/HugePages_Free/ { print $2 }' /proc/meminfo)" -ge 256 ] && huge=--in-memory
mpps() { # mpps BYTES: received by the second process, the median of its full seconds
	local common="$huge --no-pci -m 256 --no-telemetry --log-level=error"
	local app="--nb-cores=1 --no-mlockall --total-num-mbufs=16384 --stats-period=1"
	rm -f "$dir"/m.sock
	timeout 6 "$pmd" $common --file-prefix=gwrx --lcores=0@1,1@1 \
		--vdev="net_memif0,role=server,id=0,socket-abstract=no,socket=$dir/m.sock" -- $app --forward-mode=rxonly \
		</dev/null >"$dir/rx" 2>&1 &
	local rx=$!
	sleep 1
	timeout 4 "$pmd" $common --file-prefix=gwtx --lcores=0@0,1@0 \
		--vdev="net_memif0,role=client,id=0,socket-abstract=no,socket=$dir/m.sock" -- $app --forward-mode=txonly \
		--txpkts="$1" </dev/null >"$dir/tx" 2>&1
	wait $rx 2>/dev/null
	awk '/Rx-pps:/ && $2 > 0 { print $2 / 1e6 }' "$dir/rx" | median
}
median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
for bytes in 64 1064; do
	: >"$dir/ours" >"$dir/peer" >"$dir/ratio"
	for _ in $(seq "$rounds"); do
		peer=$(mpps $bytes)
		ours=$("$build/bin/bench_nic" --runs 4 --ms 500 --only "loopback-$bytes" |
			awk '$1 == "loopback" { print $4 }')
		echo "$ours" >>"$dir/ours"
		echo "$peer" >>"$dir/peer"
		awk -v a="$ours" -v b="$peer" 'BEGIN { if (b > 0) print a / b }' >>"$dir/ratio"
	done
	echo "loopback / memif, $bytes B: $(median <"$dir/ours") / $(median <"$dir/peer") Mpps, ratio $(median <"$dir/ratio")" \
		"(bar 0.7; peer $huge; by the clock, $rounds rounds, load $(cut -d' ' -f1 /proc/loadavg))"
done
