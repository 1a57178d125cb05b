#!/bin/sh
# gpuwire_cli.sh GPUWIRE WRAPPER: exit codes and words of the command line, and of the tutorial's command over it.
gpuwire=$1 wrapper=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failed=0
# expect STATUS WORDS COMMAND...: its exit status, and words somewhere in its output
expect() {
	status=$1 words=$2
	shift 2
	out=$("$@" 2>&1)
	got=$?
	[ "$got" -eq "$status" ] || { echo "status $got, want $status: $*"; failed=1; }
	case $out in *"$words"*) ;; *) echo "no '$words' in: $out"; failed=1 ;; esac
}
expect 64 "Usage: gpuwire COMMAND" "$gpuwire"
expect 0 "write a ResNet" "$gpuwire" --help
expect 0 "gpuwire " "$gpuwire" --version
expect 64 "no command 'prepear'" "$gpuwire" prepear
expect 0 "Usage: gpuwire prepare" "$gpuwire" prepare --help
expect 64 "--out FILE.pcap is needed" "$gpuwire" prepare
expect 64 "whole number" "$gpuwire" prepare --num-images -3 --out x.pcap
expect 64 "six hexadecimal" "$gpuwire" prepare --eth-src 1:2:3 --out x.pcap
expect 64 "an address like" "$gpuwire" prepare --ip-dst 1.2.3 --out x.pcap
expect 64 "FRAME:BYTE" "$gpuwire" prepare --flip 3 --out x.pcap
expect 64 "train or test" "$gpuwire" prepare --split both --out x.pcap
expect 64 "--source mnist" "$gpuwire" prepare --source mnist --out x.pcap
expect 1 "use 1176" "$gpuwire" prepare --source pattern --out-payload-len 1000 --out x.pcap
expect 1 "at least 12" "$gpuwire" prepare --source pattern --seq-bit-width 11 --out x.pcap
expect 1 "--data-root" "$gpuwire" prepare --source cifar10 --out x.pcap
expect 1 "/nowhere" "$gpuwire" prepare --source cifar10 --data-root /nowhere --out x.pcap
[ -z "$(ls)" ] || { echo "a refused command left: $(ls)"; failed=1; }
expect 0 "8191 frames, 64 labels (31 to fill the last batch), frame 1240 bytes, packets_per_batch 4096, buf_size needed 1240" \
	"$gpuwire" prepare --source pattern --num-images 33 --omit 9 --out a.pcap
expect 0 "8192 frames" "$gpuwire" prepare --source pattern --num-images 33 --out b.pcap
expect 0 "8192 frames" "$gpuwire" prepare --source pattern --num-images 33 --seed 2 --out c.pcap
expect 0 "8192 frames" "$gpuwire" prepare --source pattern --num-images 33 --seed 1 --out d.pcap
cmp -s b.pcap c.pcap && { echo "another seed gave the same patterns"; failed=1; }
cmp -s b.pcap d.pcap || { echo "the same seed gave other patterns"; failed=1; }
expect 64 "resnet19" "$gpuwire" model --model resnet19 --output m.onnx
expect 64 "--output FILE is needed" "$gpuwire" model
expect 1 "/nowhere/m.onnx" "$gpuwire" model --output /nowhere/m.onnx
expect 0 "11186118 parameters, 512 features, 44756266 bytes" "$gpuwire" model --model resnet18 --output m.onnx
if command -v python3 >/dev/null; then
	# a CIFAR-10 set of six records, found where the tutorial's command looks
	mkdir -p data/cifar-10-batches-bin
	head -c $((6 * 3073)) /dev/zero >data/cifar-10-batches-bin/data_batch_1.bin
	export GPUWIRE="$gpuwire"
	expect 0 "1024 frames, 8 labels (2 to fill" "$wrapper" --num-images 6 --images-per-batch 8 --out o/e.pcap
	[ "$(sed -n 9p o/e.labels)" = "# data set: cifar10" ] || { echo "the wrapper took another set"; failed=1; }
	expect 1 "cifar10 has 6" "$wrapper" --num-images 7 --data-root data --out o/f.pcap
fi
[ ! -e x.pcap ] || failed=1
exit $failed
