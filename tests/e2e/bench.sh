#!/bin/sh
# bench.sh CASE BUILD SOURCE: the command lines of `gpuwire bench`, run as a user runs them. Rates are not judged:
# what is printed, what adds up, and what is refused.
case=$1 build=$2 source=$3 files=$3/tests/unit/config/files
gpuwire=$build/bin/gpuwire
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
# expect STATUS WORDS COMMAND...: its exit status, and words somewhere in its output
expect() {
	status=$1 words=$2
	shift 2
	"$@" >"$dir/out" 2>&1
	got=$?
	[ "$got" -eq "$status" ] || { echo "status $got, want $status: $*"; cat "$dir/out"; failed=1; }
	also "$words"
}
also() {
	grep -qE -- "$1" "$dir/out" || { echo "no '$1' in:"; cat "$dir/out"; failed=1; }
}
cable="--engine nic --address tx_port=cable:0 --address rx_port=cable:0"
mac="--set bench_tx.eth_dst_addr=02:00:00:00:00:02"
seconds=0.4
[ -z "${GW_SANITIZE:-}" ] || seconds=2 # ten times slower, on a machine that runs other tests too
short="--seconds $seconds --rounds 1 --pause --json $dir/out.json"
closing() {
	also '^TX complete: interface tx_port, queue 0, packets [1-9][0-9]*, bytes [1-9][0-9]*, bursts [1-9][0-9]*, seconds [0-9.]+$'
	also '^RX complete: interface rx_port, queue 0, packets [1-9][0-9]*, bytes [1-9]'
	also '^Total packets received by application \(port/queue 1/0\): [1-9][0-9]*$'
	also '^Total packets transmitted by application \(port/queue 0/0\): [1-9][0-9]*$'
	also ' rx_missed 0 '
	also '^sums: every packet is counted once$'
	also '^environment: .* gpu (emu|cuda), gpuwire '
	# nothing is lost where the sender is held back: both totals are the same number
	[ "$(grep -E '^Total' "$dir/out" | sed 's/.*: //' | sort -u | wc -l)" = 1 ] || { echo "totals differ"; cat "$dir/out"; failed=1; }
	[ -z "$(command -v python3)" ] || python3 -m json.tool "$dir/out.json" >/dev/null || failed=1
}
case $case in
usage)
	expect 64 "Usage: gpuwire bench NAME" "$gpuwire" bench
	expect 0 "raw_reorder_quantize" "$gpuwire" bench --help
	expect 64 "there is no benchmark 'raw'" "$gpuwire" bench raw
	expect 64 "a configuration file is needed" "$gpuwire" bench raw_hds
	expect 64 "belong to raw_hds" "$gpuwire" bench raw_gpudirect --table
	expect 64 "a number from 0.05" "$gpuwire" bench raw_hds --seconds never x.yaml
	expect 64 "sizes from 128 to 9600" "$gpuwire" bench raw_hds --table --frames 64
	expect 1 "use --engine nic --address tx_port=cable:0" "$gpuwire" bench raw_gpudirect "$files/raw_tx_rx.yaml"
	expect 1 "is a placeholder; write a value, or --set bench_tx.eth_dst_addr=VALUE" "$gpuwire" bench raw_gpudirect \
		$cable "$files/raw_tx_rx.yaml"
	expect 1 "nothing to reorder" "$gpuwire" bench raw_reorder_seq $cable $mac "$files/raw_tx_rx.yaml"
	;;
gpudirect)
	expect 0 "^ratio: [0-9.]+ of bare copies" "$gpuwire" bench raw_gpudirect $cable $mac $short "$files/raw_tx_rx.yaml"
	closing
	;;
hds)
	expect 0 "^ratio: [0-9.]+ of the same file with one segment" "$gpuwire" bench raw_hds $cable $mac $short --verbose \
		"$files/raw_tx_rx_hds.yaml"
	closing
	also 'Regular RQ q0: num_segs=2 num_wqe=32768 wqe_stride=32B split=true'
	expect 0 "^  *1064  1 shared  huge   device " "$gpuwire" bench raw_hds --table --frames 1064 --seconds 0.2 --rounds 1
	also '^  *1064  1 shared  huge   huge '
	expect 0 "^  *1064  4 own " "$gpuwire" bench raw_hds --queues --seconds 0.1 --rounds 1
	;;
multi_q)
	expect 0 "^RX complete: interface rx_port, queue 1, packets [1-9]" "$gpuwire" bench raw_hds $cable \
		--set "<RX_PORT_MAC>=02:00:00:00:00:02" --seconds $seconds --rounds 0 "$files/raw_tx_rx_hds_multi_q.yaml"
	also '^sums: every packet is counted once$'
	also ' rx_steer_miss [1-9]' # three of the second sender's four ports have no rule
	;;
reorder)
	expect 0 "^ratio: [0-9.]+ of the same file with no reordering" "$gpuwire" bench raw_reorder_seq $cable $mac $short \
		"$files/reorder_seq_1024.yaml"
	closing
	also '^aggregated_batches [1-9][0-9]*, timeout_batches [01], .* reorder_info_failures 0$'
	;;
quantize)
	for type in int4 int8 int16 int32; do
		expect 0 "^verified_batches [1-9][0-9]*, chunks [1-9][0-9]*, failures 0$" "$gpuwire" bench \
			raw_reorder_quantize $cable $mac $short "$files/reorder_quantize_$type.yaml"
		closing
	done
	# a checker that cannot fail checks nothing: told of another type, it must object
	expect 1 "failures [1-9]" "$gpuwire" bench raw_reorder_quantize $cable $mac --seconds $seconds --rounds 0 \
		--set bench_reorder_quantize.output_type=bf16 "$files/reorder_quantize_int8.yaml"
	;;
pool)
	expect 0 "^slots, apart / one segment: [0-9.]+ by the clock, [0-9.]+ by CPU time" "$gpuwire" bench pool --rounds 1 \
		--ms 20 --json "$dir/out.json"
	also '^  slots, header and payload apart  *cache -  *[0-9]'
	also '^(slots, apart / as shipped|built without DPDK)'
	expect 1 "usage: bench_pool" "$gpuwire" bench pool --help
	expect 0 "^ingest alone / two bare threads: [0-9.]+ by the clock" "$gpuwire" bench ingest --rounds 1 --ms 200
	also '^ingest alone  [0-9.]+ Mpps .* missing 0$'
	expect 0 "^hds  *128 B .* ratio [0-9]" "$gpuwire" bench nic --runs 1 --ms 50 --only hds-128
	expect 64 "there is no step 'hsd'" "$source/tools/bench" "$build" hsd
	;;
esac
exit $failed
