#!/bin/sh
# bench/resnet50/pipeline.sh [BUILD [SECONDS [MODEL]]]: how much of the inference rate is left when packets come
# along with it, and whether memory grows. The sender is paced at 1.2 times what inference does alone, measured
# in the same process before and after. Prints both; exit 1 below 0.9, or if memory grew by more than 1 MiB
# between the 5th second and the last, or if a sum does not close.
set -eu
build=${1:-build/release}
seconds=${2:-30}
model=${3:-resnet50}
conf=$(dirname "$(readlink -f "$0")")/../../apps/resnet50_inference/configs/resnet50_sw_loopback.yaml
out=$build/bench/resnet50
mkdir -p "$out"
[ -s "$out/images.pcap" ] || "$build/bin/gpuwire" prepare --num-images 256 --images-per-batch 32 --out "$out/images.pcap"
[ -s "$out/${model}_features.onnx" ] ||
	"$build/bin/gpuwire" model --model "$model" --output "$out/${model}_features.onnx"
rm -f "$out/run.err"
"$build/bin/resnet50_inference" "$conf" --set inference.onnx_path="$out/any.onnx" --model "$model" \
	--dataset "$out/images.pcap" --seconds "$seconds" --loop --pace 1.2x --json "$out/run.json" 2>"$out/run.err" &
app=$!
until grep -qs '; sending ' "$out/run.err" || ! kill -0 $app 2>/dev/null; do sleep 0.1; done
rss() {
	awk '/^VmRSS/ { print $2 }' /proc/$app/status
}
sleep 5
early=$(rss)
sleep $((seconds - 6))
late=$(rss)
status=0
wait $app || status=$?
grep -E '^(inference alone: .* before|active_seconds|ingest|inference latency|rx_producer_worker)' "$out/run.err" || true
share=$(sed -n 's/.* = \([0-9.]*\) of their mean/\1/p' "$out/run.err")
echo "resident: $early KiB after 5 s, $late KiB after $((seconds - 1)) s"
echo "pipeline / inference alone = $share (bar 0.9, aim 0.95); exit status $status"
awk -v share="$share" -v grew=$((late - early)) -v status=$status \
	'BEGIN { exit !(share >= 0.9 && grew <= 1024 && status == 0) }'
