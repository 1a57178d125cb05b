#!/bin/sh
# config_cli.sh GPUWIRE SOURCE_DIR: exit status and words of `gpuwire config`.
gpuwire=$1
source=$2
configs=$2/apps/resnet50_inference/configs
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
	[ "$got" -eq "$status" ] || { echo "status $got, want $status: $*: $out"; failed=1; }
	case $out in *"$words"*) ;; *) echo "no '$words' in: $out"; failed=1 ;; esac
}
expect 64 "Usage: " "$gpuwire" config
expect 64 "no action 'chek'" "$gpuwire" config chek
expect 64 "name at least one file" "$gpuwire" config check
expect 64 "use tx or rx" "$gpuwire" config check --mode both x
expect 0 "Usage: " "$gpuwire" config --help
expect 0 "resnet50_sw_loopback.yaml: ok" "$gpuwire" config check "$configs/resnet50_sw_loopback.yaml"
expect 0 "the largest safe gap is 2047" "$gpuwire" config check "$configs/resnet50_sw_loopback.yaml"
expect 1 "use --engine nic --address rx_port=cable:0" "$gpuwire" config check "$configs/resnet50_rx_xhost.yaml"
expect 0 "ok" "$gpuwire" config check -m rx -e nic -a rx_port=shm:images "$configs/resnet50_rx_xhost.yaml"
expect 1 "is a placeholder; write a value, or --set bench_tx.eth_dst_addr=VALUE" "$gpuwire" config check -e nic \
	-a tx_port=cable:0 -a rx_port=cable:0 "$source/tests/unit/config/files/raw_tx_rx.yaml"
expect 0 "ok" "$gpuwire" config check -m tx -e nic -a tx_port=shm:x -s bench_tx.eth_dst_addr=02:00:00:00:00:01 \
	"$configs/resnet50_tx_xhost.yaml"
expect 1 "No such file" "$gpuwire" config check not_there.yaml
expect 1 "use 1240" "$gpuwire" config check -s memory_regions.Data_RX_GPU.buf_size=2048 \
	"$configs/resnet50_sw_loopback.yaml"
# what stands behind the engine's refusal is told in the same run
expect 1 "eth_dst_addr: <00:00:00:00:00:00> is a placeholder" "$gpuwire" config check \
	"$source/tests/unit/config/files/raw_tx_rx.yaml"
printf 'version: 1\n\tmaster_core: 0\n' >tab.yaml
expect 1 "tab.yaml:2: indented with a tab; use spaces" "$gpuwire" config check "$configs/resnet50_sw_loopback.yaml" tab.yaml
[ -z "$("$gpuwire" config check -q "$configs/resnet50_sw_loopback.yaml" 2>&1)" ] || { echo "--quiet speaks"; failed=1; }
expect 0 "hand over a partial burst" "$gpuwire" config explain timeout_us
expect 0 "counter of a port" "$gpuwire" config explain rx_missed batch_size
expect 1 "did you mean batch_size?" "$gpuwire" config explain batchsize
expect 0 "memory_regions[].num_bufs" "$gpuwire" config explain
expect 0 "json-schema.org" "$gpuwire" config schema
expect 0 "# Configuration, key by key" "$gpuwire" config schema --markdown
expect 0 "gpuwire-config(5)" "$gpuwire" config schema --man
exit $failed
