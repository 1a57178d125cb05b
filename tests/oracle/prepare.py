#!/usr/bin/python3
"""prepare.py GPUWIRE: a capture of Fashion-MNIST read by scapy, its images rebuilt by sequence number and compared
with the IDX file interpolated by numpy."""
import gzip
import os
import subprocess
import sys
import tempfile

ROOT = "/usr/share/datasets/fashion-mnist"
try:
    import numpy as np
    from scapy.layers.inet import IP, UDP
    from scapy.layers.l2 import Ether
    from scapy.utils import RawPcapReader
except ImportError as e:
    print("SKIP:", e)
    sys.exit(77)
if not os.path.exists(f"{ROOT}/t10k-images-idx3-ubyte.gz"):
    print("SKIP: dataset-fashion-mnist is not installed")
    sys.exit(77)

failed = 0


def check(what, ok):
    global failed
    if not ok:
        print("wrong:", what)
        failed += 1


def taps(n, side=224):
    """Interpolation as a matrix (side, n), pixel centres at half."""
    at = np.clip((np.arange(side) + 0.5) * n / side - 0.5, 0, n - 1)
    low = np.floor(at).astype(int)
    m = np.zeros((side, n))
    m[np.arange(side), low] += 1 - (at - low)
    m[np.arange(side), np.minimum(low + 1, n - 1)] += at - low
    return m


def main(gpuwire):
    with tempfile.TemporaryDirectory() as d:
        out = f"{d}/x.pcap"
        text = subprocess.run([gpuwire, "prepare", "--num-images", "7", "--images-per-batch", "4", "--out", out,
                               "--omit", "130", "--flip", "3:64", "--udp-port", "5005", "--ip-src", "10.1.2.3",
                               "--eth-dst", "aa:bb:cc:00:11:22"], check=True, capture_output=True, text=True).stdout
        frames = list(RawPcapReader(out))
        labels = open(f"{d}/x.labels").read().splitlines()
    check("summary", "1023 frames, 8 labels (1 to fill" in text and "buf_size needed 1240" in text)
    check("frame count", len(frames) == 1023)
    images = np.zeros((8, 128, 1176), np.int8)
    seen = np.zeros((8, 128), bool)
    for raw, meta in frames:
        p = Ether(raw)
        ip = p[IP]
        seq = int.from_bytes(raw[16:18], "big") >> 4
        batch = meta.sec // 4
        check("stamp", seq == (meta.sec % 4) * 128 + meta.usec)
        image, packet = batch * 4 + seq // 128, seq % 128
        images[image, packet] = np.frombuffer(raw[64:], np.int8)
        seen[image, packet] = True
        check("length", len(raw) == 1240 and meta.wirelen == 1240)
        check("addresses", (p.dst, ip.src, ip.dst, ip.proto) == ("aa:bb:cc:00:11:22", "10.1.2.3", "5.6.7.8", 17))
        udp = UDP(raw[34:])
        check("ports", (udp.sport, udp.dport, udp.len) == (5005, 5005, 1206))
        again = ip.copy()
        del again.chksum
        check("IPv4 checksum", IP(bytes(again)).chksum == ip.chksum)
    check("omitted frame", (~seen).sum() == 1 and not seen[1, 2])
    pixels = gzip.open(f"{ROOT}/t10k-images-idx3-ubyte.gz").read()[16:]
    classes = gzip.open(f"{ROOT}/t10k-labels-idx1-ubyte.gz").read()[8:]
    m = taps(28)
    for i in range(8):
        small = np.frombuffer(pixels[i * 784:(i + 1) * 784], np.uint8).reshape(28, 28)
        want = np.floor(m @ small @ m.T + 0.5 + 1e-9).astype(int) - 128
        got = images[i].reshape(3, 224, 224).astype(int)
        if i == 0:
            flat = got.reshape(-1)
            flat[3 * 1176] += 128 if flat[3 * 1176] < 0 else -128
        if i == 1:
            lost = np.zeros(150528, bool)
            lost[2 * 1176:3 * 1176] = True
            got = np.where(lost.reshape(3, 224, 224), want, got)
        check(f"image {i}", (got == want).all())
        check(f"label {i}", labels[i] == str(classes[i]))
    check("names", labels[8] == "# data set: fashion-mnist" and labels[9] == "T-shirt/top" and len(labels) == 19)
    sys.exit(1 if failed else 0)


main(sys.argv[1])
