#!/usr/bin/env python3
"""compare_features.py A.f32 B.f32 DIM: per image ||a - b|| / ||b|| of two feature files (float32, image after
image). Prints the worst and the median; exit 1 above --limit (default 1e-2)."""
import argparse
import sys

import numpy

ap = argparse.ArgumentParser()
ap.add_argument("a")
ap.add_argument("b")
ap.add_argument("dim", type=int)
ap.add_argument("--limit", type=float, default=1e-2)
o = ap.parse_args()
a = numpy.fromfile(o.a, dtype=numpy.float32).reshape(-1, o.dim).astype(numpy.float64)
b = numpy.fromfile(o.b, dtype=numpy.float32).reshape(-1, o.dim).astype(numpy.float64)
if a.shape != b.shape:
    sys.exit(f"shapes differ: {a.shape} and {b.shape}")
e = numpy.linalg.norm(a - b, axis=1) / numpy.linalg.norm(b, axis=1)
cos = (a * b).sum(axis=1) / numpy.linalg.norm(a, axis=1) / numpy.linalg.norm(b, axis=1)
print(f"{len(e)} images: worst {e.max():.2e}, median {numpy.median(e):.2e}, least cosine {cos.min():.6f}")
sys.exit(0 if e.max() <= o.limit else 1)
