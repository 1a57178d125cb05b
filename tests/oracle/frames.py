#!/usr/bin/python3
"""Frames judged by scapy: those we build (lengths, checksums, tunnels, tags) and those we parse."""
import subprocess
import sys

try:
    import logging
    logging.getLogger("scapy").setLevel(logging.ERROR)
    from scapy.all import (GRE, IP, UDP, Dot1AD, Dot1Q, Ether, IPOption, IPv6, IPv6ExtHdrFragment,
                           IPv6ExtHdrHopByHop, Raw, raw)
    from scapy.layers.vxlan import VXLAN
except ImportError as e:
    print("SKIP:", e)
    sys.exit(77)

TOOL = sys.argv[1]
PAYLOAD = bytes(i * 7 & 255 for i in range(1000))
failed = checks = 0


def check(ok, what):
    global failed, checks
    checks += 1
    if not ok:
        failed += 1
        print("FAIL:", what)


def again(frame):
    """The same packet with every length and checksum left for scapy to work out."""
    p = Ether(raw(frame))
    layer = p
    while layer:
        for f in ("len", "plen", "chksum"):
            # a UDP checksum of zero means none, which scapy would fill in
            if hasattr(layer, f) and not (isinstance(layer, UDP) and f == "chksum" and layer.chksum == 0):
                delattr(layer, f)
        layer = layer.payload if layer.payload else None
    return raw(p)


inner = None
for line in subprocess.run([TOOL, "build"], capture_output=True, text=True, check=True).stdout.splitlines():
    name, data = line.split()
    data = bytes.fromhex(data)
    p = Ether(data)
    check(again(p) == data, f"{name}: {len(data)} bytes: lengths or checksums differ from scapy's")
    if name == "udp4":
        inner = data
        check(p[IP].src == "10.1.2.3" and p[IP].ttl == 7 and p[IP].tos == 0x2e and p[UDP].dport == 2222, name)
        check(raw(p[UDP].payload) == PAYLOAD[:len(data) - 42], name)
    elif name == "udp6":
        check(p[IPv6].dst == "fd00::2" and p[IPv6].hlim == 7 and p[UDP].sport == 1111, name)
    elif name == "vlan":
        check(p[Dot1AD].vlan == 0xabc and p[Dot1AD].prio == 6 and p[Dot1AD].id == 1, name)
        check(raw(p)[16:] == b"" or data[:12] + data[16:] == inner, name)
    else:
        check(p[IP].src == "172.16.0.1" and p[IP].ttl == 33 and p[Ether].dst == "02:00:00:00:00:04", name)
    if name == "vxlan":
        check(p[VXLAN].vni == 0x123456 and raw(p[VXLAN].payload) == inner and p[UDP].sport == 5555, name)
    if name == "gre":
        check(p[GRE].proto == 0x0800 and raw(p[GRE].payload) == inner[14:], name)
    if name == "nvgre":
        check(p[GRE].proto == 0x6558 and p[GRE].key == 0x1234569a and raw(p[GRE].payload) == inner, name)
    if name == "tagged":
        check(p[Dot1AD].vlan == 0xabc and p[Dot1AD].type == 0x0800, name)

M = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
U = UDP(sport=77, dport=4096)
# frame, (ethertype, tags, tci, l3, l4, payload, sport, dport), (l3 ok, l4 ok, checksum known, checksum ok)
cases = [
    (M / IP() / U / PAYLOAD, (0x800, 0, 0, 14, 34, 42, 77, 4096), (1, 1, 1, 1)),
    (M / IPv6() / U / PAYLOAD, (0x86dd, 0, 0, 14, 54, 62, 77, 4096), (1, 1, 1, 1)),
    (M / Dot1Q(vlan=5, prio=3) / IP() / U / PAYLOAD, (0x800, 1, 0x6005, 18, 38, 46, 77, 4096), (1, 1, 1, 1)),
    (M / Dot1AD(vlan=9) / Dot1Q(vlan=0, prio=7) / IP() / U / PAYLOAD, (0x800, 2, 9, 22, 42, 50, 77, 4096),
     (1, 1, 1, 1)),
    (M / IP(options=[IPOption(b"\x01\x01\x01\x00")]) / U / PAYLOAD, (0x800, 0, 0, 14, 38, 46, 77, 4096), (1, 1, 1, 1)),
    (M / IPv6() / IPv6ExtHdrHopByHop() / U / PAYLOAD, (0x86dd, 0, 0, 14, 62, 70, 77, 4096), (1, 1, 1, 1)),
    (M / IPv6() / IPv6ExtHdrFragment(offset=0, m=1) / U / PAYLOAD, (0x86dd, 0, 0, 14, 62, 70, 77, 4096), (1, 1, 0, 1)),
    (M / IP(len=4000) / UDP(sport=77, dport=4096, chksum=0) / PAYLOAD, (0x800, 0, 0, 14, 34, 42, 77, 4096), (0, 1, 1, 1)),
    (M / IP(chksum=1) / U / PAYLOAD, (0x800, 0, 0, 14, 34, 42, 77, 4096), (0, 1, 1, 1)),
    (M / IP() / UDP(sport=77, dport=4096, chksum=1) / PAYLOAD, (0x800, 0, 0, 14, 34, 42, 77, 4096), (1, 1, 1, 0)),
    (M / IP() / UDP(sport=77, dport=4096, chksum=0) / PAYLOAD, (0x800, 0, 0, 14, 34, 42, 77, 4096), (1, 1, 1, 1)),
    (M / IPv6() / UDP(sport=77, dport=4096, chksum=0) / PAYLOAD, (0x86dd, 0, 0, 14, 54, 62, 77, 4096), (1, 1, 1, 0)),
    (M / IP() / UDP(sport=77, dport=4096, len=20) / PAYLOAD, (0x800, 0, 0, 14, 34, 42, 77, 4096), (1, 0, 0, 1)),
    (M / IP(proto=6) / Raw(PAYLOAD), (0x800, 0, 0, 14, 34, 0, 0, 0), (1, 1, 0, 1)),
    (Ether(type=0x1234) / Raw(PAYLOAD), (0x1234, 0, 0, 0, 0, 0, 0, 0), (1, 1, 0, 1)),
]
for i in range(200):  # odd and even lengths, every alignment of the checksum
    cases.append((M / IP() / U / PAYLOAD[:i], (0x800, 0, 0, 14, 34, 42, 77, 4096), (1, 1, 1, 1)))
text = "".join(raw(c[0]).hex() + "\n" for c in cases)
out = subprocess.run([TOOL, "parse"], input=text, capture_output=True, text=True, check=True).stdout.splitlines()
check(len(out) == len(cases), "one line for each frame")
for (frame, want, ok), line in zip(cases, out):
    got = tuple(int(v) for v in line.split())
    check(got == want + ok, f"{frame.summary()}: {got}, want {want + ok}")
print(checks, "checks,", failed, "failed")
sys.exit(1 if failed else 0)
