#!/bin/sh
# bench/resnet50/deadline.sh [BUILD [RUNS [CONSUMER]]]: finite deadlines on the real clock and a busy machine: one
# spinning process per core beside the application, 2,048 images, RUNS runs (10) for each of 20 ms and 200 ms.
# CONSUMER: null (default) or resnet18. A run passes with partial=0, or when the sender itself was silent, or
# needed for one window, longer than the deadline; then the silence is printed. Exit 1 otherwise.
set -eu
build=${1:-build/release}
runs=${2:-10}
consumer=${3:-null}
conf=$(dirname "$0")/../../apps/resnet50_inference/configs/resnet50_sw_loopback.yaml
out=$build/bench/resnet50
mkdir -p "$out"
[ -s "$out/2048.pcap" ] || "$build/bin/gpuwire" prepare --num-images 2048 --images-per-batch 32 --out "$out/2048.pcap"
if [ "$consumer" = null ]; then
	how="--consumer null"
else
	[ -s "$out/${consumer}_features.onnx" ] ||
		"$build/bin/gpuwire" model --model "$consumer" --output "$out/${consumer}_features.onnx"
	how="--set inference.onnx_path=$out/any.onnx --model $consumer"
fi
spinners=""
for _ in $(seq "$(nproc)"); do
	(while :; do :; done) &
	spinners="$spinners $!"
done
trap 'kill $spinners' EXIT
bad=0
for timeout_us in 20000 200000; do
	run=0
	while [ $run -lt "$runs" ]; do
		run=$((run + 1))
		# shellcheck disable=SC2086
		"$build/bin/resnet50_inference" "$conf" $how --dataset "$out/2048.pcap" --replay-once \
			--expected-images 2048 --set "interfaces.rx_port.rx.queues.0.timeout_us=$timeout_us" \
			2>"$out/deadline.err" >"$out/deadline.out" || true
		line=$(grep '^rx_producer_worker: pushed' "$out/deadline.err" | cut -c 21-110)
		late=$(sed -n 's/.*longest silence \([0-9.]*\) ms.*slowest window \([0-9.]*\) ms.*/\1 \2/p' "$out/deadline.err")
		verdict=$(awk -v line="$line" -v late="${late:-0 0}" -v t="$timeout_us" 'BEGIN {
			split(late, l, " ")
			if (line ~ / partial=0 /) print "ok"
			else if (l[1] * 1000 > t || l[2] * 1000 > t) print "sender late"
			else print "BAD" }')
		echo "timeout_us=$timeout_us run $run: $line: $verdict${late:+ (silence, window: $late ms)}"
		[ "$verdict" != BAD ] || bad=1
	done
done
exit $bad
