#!/usr/bin/python3
"""pca.py PCA_DUMP: our principal components against numpy's singular value decomposition."""
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("SKIP: python3-numpy is not installed")
    sys.exit(77)


def ours(dump, rows, max_rows):
    with tempfile.NamedTemporaryFile(delete=False) as f:
        f.write(rows.astype("<f4").tobytes())
    try:
        out = subprocess.run([dump, f.name, str(rows.shape[1]), str(max_rows)], check=True, capture_output=True)
    finally:
        os.unlink(f.name)
    lines = [np.array(line.split(), dtype=float) for line in out.stdout.decode().splitlines()]
    return int(lines[0][0]), lines[0][1], lines[1], lines[2], np.array(lines[3:])


def numpys(rows):
    x = rows.astype(np.float64)
    x -= x.mean(0)
    _, s, v = np.linalg.svd(x, full_matrices=False)
    var = s**2 / (len(x) - 1)
    v = v[:2] * np.sign(v[[0, 1], np.abs(v[:2]).argmax(1)])[:, None]
    return var, v


def features(rng, n, dim, rank, tail):
    """Rectified, correlated, far from zero: what a network's pooled features look like."""
    x = rng.standard_normal((n, rank)) * np.linspace(3, 1, rank) @ rng.standard_normal((rank, dim))
    return np.maximum(x / rank + 2 + tail * rng.standard_normal((n, dim)), 0).astype(np.float32)


def check(name, dump, rows, max_rows):
    n, total, c1, c2, pc = ours(dump, rows, max_rows)
    kept = rows[-max_rows:]
    var, v = numpys(kept)
    got = np.stack([c1[2:], c2[2:]])
    want_pc = (rows.astype(np.float64) - kept.astype(np.float64).mean(0)) @ v.T
    errors = {
        "rows": abs(n - len(kept)),
        "total": abs(total / var.sum() - 1),
        "variance": np.abs(np.array([c1[0], c2[0]]) / var[:2] - 1).max(),
        "explained": np.abs(np.array([c1[1], c2[1]]) - var[:2] / var.sum()).max(),
        "component": np.abs(got - v).max(),
        "coordinates": np.abs(pc - want_pc).max() / np.abs(want_pc).max(),
    }
    worst = max(errors, key=errors.get)
    print(f"{name}: worst {worst} {errors[worst]:.1e}")
    return errors[worst] < 1e-5


rng = np.random.default_rng(1)
ok = check("256 x 2048", sys.argv[1], features(rng, 256, 2048, 20, 0.1), 512)
ok &= check("300 x 512, window of 100", sys.argv[1], features(rng, 300, 512, 8, 0.5), 100)
ok &= check("noise only, 64 x 2048", sys.argv[1], rng.standard_normal((64, 2048)).astype(np.float32), 64)
ok &= check("more rows than dimensions", sys.argv[1], features(rng, 500, 6, 4, 0.1), 500)
ok &= check("3 rows", sys.argv[1], features(rng, 3, 100, 4, 0.1), 8)
sys.exit(0 if ok else 1)
