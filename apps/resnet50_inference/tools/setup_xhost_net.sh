#!/bin/sh
# setup_xhost_net.sh INTERFACE [MTU]: make a port ready for image packets: up, large frames, no offload that would
# merge or split them, and huge pages for the buffers. Needs root. Prints the MAC to give to the sender as
# ETH_DST_ADDR. Undo: set the MTU back to 1500 and vm.nr_hugepages to 0.
set -eu
interface=${1:?usage: setup_xhost_net.sh INTERFACE [MTU]}
mtu=${2:-9000}
[ -d "/sys/class/net/$interface" ] || { echo "$interface: no such interface" >&2; exit 2; }
[ "$(id -u)" -eq 0 ] || { echo "root is needed: sudo $0 $interface $mtu" >&2; exit 1; }
ip link set dev "$interface" mtu "$mtu"
ip link set dev "$interface" up
if command -v ethtool >/dev/null; then
	ethtool -K "$interface" gro off lro off gso off tso off 2>/dev/null || true
fi
[ "$(cat /proc/sys/vm/nr_hugepages)" -ge 128 ] || sysctl -q vm.nr_hugepages=128
echo "ETH_DST_ADDR=$(cat "/sys/class/net/$interface/address")"
