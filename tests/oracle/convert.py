#!/usr/bin/python3
"""numpy judges every conversion: convert.py CONVERT_FILTER. bf16, which numpy lacks, is rounded here from
exact integers. Every 4-, 8- and 16-bit value; 32-bit ones at random, around ties and at the ends."""
import subprocess
import sys

try:
    import numpy as np
except ImportError:
    print("SKIP: python3-numpy is not installed")
    sys.exit(77)

IN = {"int8": np.int8, "int16": np.int16, "int32": np.int32}
OUT = {"int8": np.uint8, "int32": np.int32, "fp16": np.uint16, "bf16": np.uint16, "fp32": np.uint32,
       "fp64": np.uint64}


def inputs(kind):
    """(raw bytes in host order, the integers they stand for)"""
    if kind == "int4":
        raw = np.arange(256, dtype=np.uint8)
        both = np.stack([raw >> 4, raw & 15], 1).reshape(-1).astype(np.int64)
        return raw.tobytes(), np.where(both > 7, both - 16, both)
    if kind != "int32":
        info = np.iinfo(IN[kind])
        v = np.arange(info.min, info.max + 1).astype(IN[kind])
        return v.tobytes(), v.astype(np.int64)
    rng = np.random.default_rng(1)
    v = rng.integers(-2**31, 2**31, 60000) >> rng.integers(0, 31, 60000)
    ties = (rng.integers(1, 2**10, 60000) << rng.integers(0, 22, 60000)) + rng.integers(-1, 2, 60000)
    ties = np.clip(ties * rng.choice([-1, 1], 60000), -2**31, 2**31 - 1)
    ends = np.array([0, 1, -1, 2**31 - 1, -2**31, 65504, 65519, 65520, -65520, 2**24, 2**24 + 1, 2**24 + 3])
    v = np.concatenate([v, ties, ends]).astype(np.int32)
    return v.tobytes(), v.astype(np.int64)


def bf16(v):
    """round to nearest even, once, in integers alone"""
    out = np.zeros(len(v), np.uint16)
    for i, x in enumerate(v.tolist()):
        a, sign = abs(x), 0x8000 if x < 0 else 0
        if not a:
            continue
        drop = max(a.bit_length() - 8, 0)
        q, rest = a >> drop, a & ((1 << drop) - 1)
        half = 1 << drop >> 1
        if drop and (rest > half or (rest == half and q & 1)):
            q += 1
        if q == 256:
            q, drop = 128, drop + 1
        e = drop + 7
        while q < 128:
            q, e = q << 1, e - 1
        out[i] = sign | ((e + 127) << 7) | (q & 127)
    return out


def expected(v, kind):
    with np.errstate(over="ignore"):
        if kind == "bf16":
            return bf16(v)
        if kind == "int8":
            return np.clip(v, -128, 127).astype(np.int8).view(np.uint8)
        if kind == "int32":
            return v.astype(np.int32)
        kind = {"fp16": np.float16, "fp32": np.float32, "fp64": np.float64}[kind]
        return v.astype(np.float64).astype(kind).view(f"u{np.dtype(kind).itemsize}")


def main():
    ran = bad = 0
    for simd in ("scalar", "avx2", "avx512", "vbmi"):
        for i in ("int4", "int8", "int16", "int32"):
            raw, v = inputs(i)
            for o, kind in OUT.items():
                want = expected(v, o)
                for order in ("host", "network"):
                    data = raw
                    if order == "network" and i in ("int16", "int32"):
                        data = np.frombuffer(raw, IN[i]).byteswap().tobytes()
                    p = subprocess.run([sys.argv[1], simd, i, o, order], input=data, capture_output=True)
                    if p.returncode == 77:
                        continue
                    got = np.frombuffer(p.stdout, kind)
                    ran += 1
                    if p.returncode or len(got) != len(want) or (got != want).any():
                        bad += 1
                        k = 0 if len(got) != len(want) else int(np.argmax(got != want))
                        print(f"{simd} {i}->{o} {order}: first difference at {k}, input {v[k]}, want "
                              f"{int(want[k]):#x}, got {hex(int(got[k])) if k < len(got) else 'nothing'}, exit {p.returncode}")
    print(f"{ran} conversions judged, {bad} wrong")
    return 1 if bad or not ran else 0


sys.exit(main())
