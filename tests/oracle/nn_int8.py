#!/usr/bin/python3
"""nn_int8.py TOOL CLI [MODEL [N_MEANS [N_HELD_OUT [PRECISION]]]]: whole-number features against FLOAT's on real pictures
(Debian's dataset-fashion-mnist; 77 without). Every picture's cosine >= 0.999, and nearest-class-mean accuracy
on the held-out pictures within one point. Scales come from the first 32 pictures of the other split."""
import gzip
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError as e:
    print("SKIP:", e)
    sys.exit(77)
DIR = "/usr/share/datasets/fashion-mnist/"
if not os.path.exists(DIR):
    print("SKIP: dataset-fashion-mnist is not installed")
    sys.exit(77)


def pictures(split, n):
    with gzip.open(f"{DIR}{split}-images-idx3-ubyte.gz") as f:
        x = np.frombuffer(f.read(16 + n * 784)[16:], np.uint8).reshape(n, 28, 28)
    with gzip.open(f"{DIR}{split}-labels-idx1-ubyte.gz") as f:
        y = np.frombuffer(f.read(8 + n)[8:], np.uint8)
    big = x.repeat(8, 1).repeat(8, 2).astype(np.float16) - np.float16(128)
    return np.ascontiguousarray(np.broadcast_to(big[:, None], (n, 3, 224, 224))), y


def accuracy(train, y, test, want):
    mean, dev = train.mean(0), train.std(0) + 1e-9
    train, test = (train - mean) / dev, (test - mean) / dev
    means = np.stack([train[y == c].mean(0) for c in range(10)])
    return float((((test[:, None] - means[None]) ** 2).sum(2).argmin(1) == want).mean())


tool, cli = sys.argv[1:3]
model = sys.argv[3] if len(sys.argv) > 3 else "resnet18"
n_means, n_held = (int(v) for v in (sys.argv[4:6] + ["600", "2000"][len(sys.argv[4:6]):]))
precision = sys.argv[6] if len(sys.argv) > 6 else "int8"
(a, ya), (b, yb) = pictures("train", n_means), pictures("t10k", n_held)
with tempfile.TemporaryDirectory() as d:
    subprocess.run([cli, "model", "--model=" + model, "-o", d + "/m.onnx"], check=True, stdout=subprocess.DEVNULL)
    with open(d + "/in", "wb") as f:
        a.tofile(f)
        b.tofile(f)
    got = {}
    for p in ("fp32", precision):
        subprocess.run([tool, d + "/m.onnx", d + "/in", "32", d + "/out", p, "32"], check=True)
        got[p] = np.fromfile(d + "/out", np.float32).reshape(n_means + n_held, -1).astype(np.float64)
x, q = got["fp32"], got[precision]
cos = (x * q).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(q, axis=1)
acc = [accuracy(v[:n_means], ya, v[n_means:], yb) for v in (x, q)]
print(f"{model}, {precision}: {len(x)} pictures, smallest cosine {cos.min():.6f} (mean {cos.mean():.6f}); nearest mean on "
      f"{n_held} held out: FLOAT {acc[0]:.4f}, {precision} {acc[1]:.4f}")
sys.exit(not (cos.min() >= 0.999 and abs(acc[0] - acc[1]) <= 0.01))
