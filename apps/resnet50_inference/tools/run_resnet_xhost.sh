#!/bin/sh
# run_resnet_xhost.sh [--replay-once | --seconds N] [OPTION...]: receiver and sender as two processes, the receiver
# first; further options go to both. On one machine they meet in shared memory; with RX_HOST and TX_HOST set, each
# runs there over ssh, with the cards' addresses in its own configuration.
#   BIN       folder of resnet50_inference         (default: build/release/bin)
#   DATASET   capture, the same path on both       (default: data/cifar10_resnet.pcap)
#   RX_HOST, TX_HOST   ssh names; ETH_DST_ADDR     the receiving port's MAC, wanted then
#   RX_CONFIG, TX_CONFIG                           (default: the two xhost files beside this script)
# Exit status: the receiver's, or the sender's if that failed.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
bin=${BIN:-build/release/bin}
dataset=${DATASET:-data/cifar10_resnet.pcap}
rx_config=${RX_CONFIG:-$here/configs/resnet50_rx_xhost.yaml}
tx_config=${TX_CONFIG:-$here/configs/resnet50_tx_xhost.yaml}
link=xhost$$
rx_address="--engine nic --address rx_port=shm:$link"
tx_address="--engine nic --address tx_port=shm:$link"
on_rx="" on_tx="" replay=""
if [ -n "${RX_HOST:-}" ] && [ -n "${TX_HOST:-}" ]; then
	on_rx="ssh $RX_HOST" on_tx="ssh $TX_HOST env ETH_DST_ADDR=${ETH_DST_ADDR:?the MAC of the receiving port}"
	rx_address="" tx_address=""
fi
[ $# -gt 0 ] || set -- --replay-once
# how the capture is replayed is for the sender alone to know
[ "$1" != --replay-once ] || { shift; replay=--replay-once; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086
$on_rx "$bin/resnet50_inference" "$rx_config" --mode rx $rx_address --dataset "$dataset" ${RX_OPTIONS:-} "$@" 2>"$log" &
rx=$!
until grep -q 'TrtRunner ready' "$log"; do
	kill -0 $rx 2>/dev/null || { cat "$log" >&2; wait $rx; }
	sleep 0.2
done
sent=0
# shellcheck disable=SC2086
$on_tx "$bin/resnet50_inference" "$tx_config" --mode tx $tx_address --dataset "$dataset" $replay "$@" || sent=$?
received=0
wait $rx || received=$?
cat "$log" >&2
[ $received -ne 0 ] || received=$sent
exit $received
