#!/bin/sh
# tests/e2e/resnet50.sh CASE BUILD SOURCE: one run of the application (or two), judged by what it prints,
# writes and exits with. Case `setup` makes the model and the captures that the others share.
# ResNet-18 and 96 images: three windows, some seconds. Exit 0 pass, 1 fail, 77 skip.
set -u
case=$1
bin=$2/bin
diff=$2/tests/features_diff
conf=$3/apps/resnet50_inference/configs
work=$2/e2e
out=$work/$case
mkdir -p "$out"
failed=0

fail() {
	echo "FAIL: $*" >&2
	failed=1
}
# has FILE TEXT: the text stands in the file
has() {
	grep -qF -- "$2" "$1" || { fail "$1 lacks: $2"; tail -n 5 "$1" >&2; }
}
# value FILE NAME [DEFAULT]: the number behind NAME= on the producer's lines, the second of which is not
# printed when there is nothing to tell
value() {
	v=$(sed -n "s/.*[ ([]$2=\([0-9]*\).*/\1/p" "$1" | head -n 1)
	echo "${v:-${3:-0}}"
}
# run WANTED_STATUS NAME OPTION...: both ends in one process
run() {
	want=$1 name=$2
	shift 2
	"$bin/resnet50_inference" "$conf/resnet50_sw_loopback.yaml" --set inference.onnx_path="$work/any.onnx" \
		--model resnet18 "$@" >"$out/$name.out" 2>"$out/$name.err"
	got=$?
	[ $got -eq "$want" ] || { fail "$name: exit $got, want $want"; tail -n 5 "$out/$name.err" >&2; }
}
# same_images NAME: the features are the clean run's
same_images() {
	"$diff" "$work/clean.features" "$out/$1.features" 512 >"$out/$1.diff" || fail "$1: no features"
	[ -s "$out/$1.diff" ] && fail "$1: $(head -n 3 "$out/$1.diff")"
}
# start_receiver IMAGES: a receiver over shared memory in the background, ready when this returns; its id in rx
start_receiver() {
	rm -f "$out/rx.err" # an earlier run's would say ready at once
	"$bin/resnet50_inference" "$conf/resnet50_rx_xhost.yaml" --mode rx --engine nic --address "rx_port=shm:e2e$$" \
		--set inference.onnx_path="$work/any.onnx" --model resnet18 --dataset "$work/clean.pcap" \
		--expected-images "$1" --features "$out/a.features" >"$out/rx.out" 2>"$out/rx.err" &
	rx=$!
	i=0
	while ! grep -q 'TrtRunner ready' "$out/rx.err" 2>/dev/null && [ $i -lt 600 ] && kill -0 $rx 2>/dev/null; do
		sleep 0.1
		i=$((i + 1))
	done
}
# send_clean: the clean capture through the same shared memory, to its end
send_clean() {
	"$bin/resnet50_inference" "$conf/resnet50_tx_xhost.yaml" --mode tx --engine nic --address "tx_port=shm:e2e$$" \
		--dataset "$work/clean.pcap" --replay-once >"$out/tx.out" 2>"$out/tx.err" || fail "sender: exit $?"
}
clean_line='rx_producer_worker: pushed 96 images (reordered_bursts=3 partial=0 dropped=0 partial_packets=0 info_failures=0 non_reordered_bursts=0 non_reordered_packets=0)'

case $case in
setup)
	"$bin/gpuwire" model --model resnet18 --output "$work/resnet18_features.onnx" || fail model
	prepare="$bin/gpuwire prepare --num-images 96 --images-per-batch 32"
	$prepare --out "$work/clean.pcap" || fail prepare
	# frame 5000 = image 39, frame 12287 = the run's last; image 40's first pixel
	$prepare --omit 5000 --out "$work/lost.pcap" || fail prepare
	$prepare --omit 12287 --out "$work/last.pcap" || fail prepare
	$prepare --flip 5120:64 --out "$work/flip.pcap" || fail prepare
	run 0 clean --dataset "$work/clean.pcap" --replay-once --expected-images 96 --features "$work/clean.features"
	;;
demo)
	# every line on its stream; the same features again
	run 0 a --dataset "$work/clean.pcap" --replay-once --expected-images 96 --features "$out/a.features" \
		--json "$out/a.json" --set inference.pca_every_n_batches=3
	has "$out/a.err" 'set_reorder_cuda_stream OK'
	has "$out/a.err" 'TrtRunner ready'
	has "$out/a.err" 'kHALF'
	has "$out/a.err" 'features FLOAT32'
	has "$out/a.err" 'feature[image 0, class 9 (Ankle boot)] = ['
	has "$out/a.err" '(dim=512)'
	has "$out/a.err" 'pcap_tx_worker: sent 12288/12288 frames in '
	has "$out/a.err" '(send_failures=0 fill_failures=0 no_burst_polls='
	has "$out/a.err" "$clean_line"
	has "$out/a.err" 'inference latency (ms): mean='
	has "$out/a.err" '(per batch of 32 images, n=3)'
	has "$out/a.err" '=== ResNet inference summary ==='
	has "$out/a.err" 'images=96 batches=3 seconds='
	[ "$(grep -c '^  class .*|mean|=' "$out/a.err")" -eq 10 ] || fail "no table of ten classes"
	[ "$(grep -c '^pc1=.* pc2=' "$out/a.out")" -eq 32 ] || fail "no 32 pc1= lines"
	grep -qv '^pc1=' "$out/a.out" && fail "standard output carries more than pc1= lines"
	grep -q 'pc1=' "$out/a.err" && fail "pc1= on standard error"
	[ "$(tr -cd '\r' <"$out/a.err" | wc -c)" -eq 0 ] || fail "a progress bar in a pipe"
	same_images a
	has "$out/a.json" '"pushed_images": 96'
	# the JSON document alone on standard output
	run 0 b --dataset "$work/clean.pcap" --replay-once --expected-images 96 --features "$out/b.features" --json -
	same_images b
	if command -v python3 >/dev/null; then
		python3 -m json.tool <"$out/b.out" >/dev/null || fail "--json - is not JSON"
	fi
	;;
accuracy)
	# better than three times chance with the right labels, near chance with labels moved by one image
	run 0 a --dataset "$work/clean.pcap" --replay-once --expected-images 96
	cp "$work/clean.pcap" "$out/moved.pcap"
	sed -n '96p;1,95p' "$work/clean.labels" | { read -r last96; cat; } >"$out/rest" || fail labels
	{ sed -n 96p "$work/clean.labels"; sed -n '1,95p;97,$p' "$work/clean.labels"; } >"$out/moved.labels"
	run 0 b --dataset "$out/moved.pcap" --replay-once --expected-images 96
	right=$(sed -n 's/.*judged): features \([0-9.]*\),.*/\1/p' "$out/a.err")
	moved=$(sed -n 's/.*judged): features \([0-9.]*\),.*/\1/p' "$out/b.err")
	awk -v a="$right" -v b="$moved" 'BEGIN { exit !(a >= 0.3 && b <= 0.2) }' ||
		fail "features $right with the right labels, $moved with moved ones"
	has "$out/a.err" 'chance 0.1'
	has "$out/a.err" 'raw pixels 0.'
	;;
lost)
	# one packet in the middle: one image incomplete, the others as in the clean run
	run 3 a --dataset "$work/lost.pcap" --replay-once --expected-images 96 --features "$out/a.features"
	has "$out/a.err" 'pushed 95 images (reordered_bursts=3 partial=1 dropped=0 partial_packets=4095 '
	[ "$(value "$out/a.err" incomplete_images)" = 1 ] || fail "incomplete_images is not 1"
	"$diff" "$work/clean.features" "$out/a.features" 512 >"$out/diff"
	[ "$(cat "$out/diff")" = 'missing 39' ] || fail "$(cat "$out/diff")"
	# the last packet of the run: only the give-up's flush hands that window over
	run 3 b --dataset "$work/last.pcap" --replay-once --expected-images 96 --features "$out/b.features"
	has "$out/b.err" 'pushed 95 images (reordered_bursts=3 partial=1 dropped=0 partial_packets=4095 '
	"$diff" "$work/clean.features" "$out/b.features" 512 >"$out/diff"
	[ "$(cat "$out/diff")" = 'missing 95' ] || fail "$(cat "$out/diff")"
	;;
impaired)
	# a wire with loss, duplicates and swaps: an image has a hole and is named missing, or is the clean run's
	run 3 a --dataset "$work/clean.pcap" --replay-once --expected-images 96 --features "$out/a.features" --engine nic \
		--address tx_port=cable:0 --address rx_port=impair:loss=0.5%,dup=0.5%,swap=1%,seed=7:cable:0
	"$diff" "$work/clean.features" "$out/a.features" 512 >"$out/diff"
	holes=$(value "$out/a.err" incomplete_images)
	pushed=$(sed -n 's/.*pushed \([0-9]*\) images.*/\1/p' "$out/a.err" | head -n 1)
	[ "$holes" -gt 20 ] && [ "$holes" -lt 80 ] || fail "$holes incomplete images of 96"
	[ "$(grep -c '^missing' "$out/diff")" = "$holes" ] || fail "not $holes images are named missing"
	grep -v '^missing' "$out/diff" >&2 && fail "an image without a hole differs"
	[ $((pushed + holes)) -eq 96 ] || fail "$pushed pushed and $holes incomplete are not 96"
	;;
flip)
	run 0 a --dataset "$work/flip.pcap" --replay-once --expected-images 96 --features "$out/a.features"
	"$diff" "$work/clean.features" "$out/a.features" 512 >"$out/diff"
	[ "$(cat "$out/diff")" = 'differs 40' ] || fail "$(cat "$out/diff")"
	;;
batch8)
	run 0 a --dataset "$work/clean.pcap" --replay-once --expected-images 96 --images-per-batch 8 \
		--features "$out/a.features"
	has "$out/a.err" '(per batch of 8 images, n=12)'
	has "$out/a.err" 'images=96 batches=12 '
	same_images a
	;;
status)
	run 3 few --dataset "$work/clean.pcap" --replay-once --expected-images 97
	has "$out/few.err" '96 of 97 expected images'
	run 64 usage --dataset "$work/clean.pcap" --mode sideways
	run 64 both --dataset "$work/clean.pcap" --replay-once --seconds 3
	run 2 bufs --dataset "$work/clean.pcap" --set memory_regions.Reorder_RX_GPU.num_bufs=8
	has "$out/bufs.err" 'num_bufs'
	has "$out/bufs.err" '9'
	run 2 batch --dataset "$work/clean.pcap" --images-per-batch 24
	has "$out/batch.err" 'use 16'
	run 2 capture --dataset "$work/none.pcap"
	has "$out/capture.err" 'gpuwire prepare'
	run 2 network --dataset "$work/clean.pcap" --model resnet152
	has "$out/network.err" 'gpuwire model --model resnet152'
	ETH_DST_ADDR=02:00:00:00:00:0g run 2 address --dataset "$work/clean.pcap"
	has "$out/address.err" 'ETH_DST_ADDR'
	# what leaves is the capture, byte for byte, with the address asked for
	ETH_DST_ADDR=02:ab:cd:ef:01:23 "$bin/resnet50_inference" "$conf/resnet50_tx_xhost.yaml" --mode tx --engine nic \
		--address "tx_port=pcap-out:$out/sent.pcap" --dataset "$work/clean.pcap" 2>"$out/sent.err" ||
		fail "sender into a file: exit $?"
	[ "$(od -An -tx1 -j40 -N6 "$out/sent.pcap" | tr -d ' ')" = 02abcdef0123 ] || fail "another address was sent"
	tail -c 1200 "$work/clean.pcap" >"$out/want"
	tail -c 1200 "$out/sent.pcap" | cmp - "$out/want" || fail "another last frame was sent"
	has "$out/sent.err" 'pcap_tx_worker: longest silence '
	;;
idle)
	# waiting for a sender costs next to nothing: at most 1.5 % of a core, all threads together; under a
	# sanitizer, whose own time that would be, at most 300 wake-ups a second (a 100 us sleeper has 10,000)
	start_receiver 192
	cpu_us() { cat /proc/$rx/task/*/schedstat | awk '{ ns += $1 } END { printf "%d", ns / 1000 }'; }
	for _ in $(seq 20); do # on a busy machine the last of opening takes its time
		a=$(cpu_us)
		sleep 1
		[ $(($(cpu_us) - a)) -le 15000 ] && break
	done
	wakes() { cat /proc/$rx/task/*/status | awk '/^voluntary_ctxt_switches/ { n += $2 } END { printf "%d", n }'; }
	a=$(cpu_us) wakes=$(wakes)
	sleep 10
	b=$(cpu_us) wakes=$(($(wakes) - wakes))
	[ "$wakes" -le 3000 ] || fail "$wakes wake-ups in 10 s"
	[ -n "${GW_SANITIZE:-}" ] || [ $((b - a)) -le 150000 ] || fail "$((b - a)) us of CPU time in 10 s"
	# five seconds of silence end it: what came is done, what did not is missed
	send_clean
	wait $rx
	[ $? -eq 3 ] || fail "96 of 192 images: another status than 3"
	has "$out/rx.err" 'pushed 96 images'
	has "$out/rx.err" 'resnet50_inference: 96 of 192 expected images'
	# a signal ends a wait in order
	start_receiver 96
	kill -INT $rx
	wait $rx
	[ $? -eq 3 ] || fail "interrupted: another status than 3"
	has "$out/rx.err" '0 of 96 expected images'
	;;
bench)
	# nobody infers and every image counts: 100 windows through the whole receive path, none of them partial
	run 0 null --dataset "$work/clean.pcap" --loop --consumer null --expected-images 3200
	has "$out/null.err" 'pushed 3200 images (reordered_bursts=100 partial=0 dropped=0 partial_packets=0 '
	# bench mode, a sender far beyond inference: bursts are dropped, and every image is somewhere
	run 0 flood --dataset "$work/clean.pcap" --seconds 3 --loop
	has "$out/flood.err" 'active_seconds='
	grep -q 'class .*|mean|' "$out/flood.err" && fail "feature statistics in bench mode"
	pushed=$(sed -n 's/.*pushed \([0-9]*\) images.*/\1/p' "$out/flood.err")
	images=$(sed -n 's/^images=\([0-9]*\) .*/\1/p' "$out/flood.err")
	bursts=$(value "$out/flood.err" reordered_bursts)
	lost=$(($(value "$out/flood.err" incomplete_images) + $(value "$out/flood.err" dropped_images)))
	[ "$pushed" -eq "$images" ] || fail "pushed $pushed images, inferred $images"
	[ $((bursts * 32)) -eq $((pushed + lost)) ] || fail "$bursts bursts, $pushed pushed, $lost lost"
	[ "$bursts" -eq $(($(value "$out/flood.err" delivered_bursts "$bursts") + $(value "$out/flood.err" dropped))) ] ||
		fail "bursts do not add up"
	;;
shm)
	start_receiver 96
	send_clean
	wait $rx || fail "receiver: exit $?"
	has "$out/tx.err" 'pcap_tx_worker: sent 12288/12288 frames in '
	has "$out/rx.err" "$clean_line"
	same_images a
	;;
script)
	# both processes by the script, as the tutorial's two hosts; and a refusal comes through
	BIN=$bin DATASET=$work/clean.pcap RX_OPTIONS="--expected-images 96 --features $out/a.features" \
		"$3/apps/resnet50_inference/tools/run_resnet_xhost.sh" --replay-once \
		--set inference.onnx_path="$work/any.onnx" --model resnet18 >"$out/a.out" 2>"$out/a.err" || fail "exit $?"
	has "$out/a.err" "$clean_line"
	same_images a
	BIN=$bin DATASET=$work/clean.pcap "$3/apps/resnet50_inference/tools/run_resnet_xhost.sh" --replay-once \
		--set inference.onnx_path="$work/none.onnx" >"$out/b.out" 2>"$out/b.err"
	[ $? -eq 2 ] || fail "a missing model: not exit 2"
	;;
examples)
	sed -e "s|<0000:00:00.0>|shm:e2e$$|" -e 's|engine: "dpdk"|engine: "nic"|' "$conf/resnet50_rx_xhost.yaml" \
		>"$out/rx.yaml"
	"$2/examples/02_resnet_tutorial" "$out/rx.yaml" "$work/resnet18_features.onnx" 96 >"$out/a.out" 2>"$out/a.err" &
	rx=$!
	sleep 3
	send_clean
	wait $rx || fail "02_resnet_tutorial: exit $?"
	has "$out/a.out" 'images=96'
	has "$out/a.err" 'pushed 96 images (dropped=0 '
	"$2/examples/01_receive" "$out/rx.yaml" rx_port 3 >"$out/b.out" 2>"$out/b.err" &
	rx=$!
	sleep 1
	send_clean
	wait $rx || fail "01_receive: exit $?"
	has "$out/b.out" '3 packets, ' # three tensors
	;;
esac
exit $failed
