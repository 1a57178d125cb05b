#!/usr/bin/python3
"""model_range.py GPUWIRE: the random networks behave: loaded into torchvision's own ResNets (every name and shape must
match), activations stay far within FLOAT16, no layer dies, features differ between images, the same in FLOAT16."""
import gzip
import os
import subprocess
import sys
import tempfile

IMAGES = "/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz"
N = 8
try:
    import numpy as np
    import onnx
    import torch
    import torchvision
    from onnx import numpy_helper
except ImportError as e:
    print("SKIP:", e)
    sys.exit(77)
if not os.path.exists(IMAGES):
    print("SKIP: dataset-fashion-mnist is not installed")
    sys.exit(77)
torch.set_num_threads(2)

small = np.frombuffer(gzip.open(IMAGES).read(16 + N * 784)[16:], np.uint8).reshape(N, 1, 28, 28)
x = torch.nn.functional.interpolate(torch.tensor(small.copy()).float(), size=224, mode="bilinear").repeat(1, 3, 1, 1)
x = x.round() - 128


def features(name, path):
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    w = {t.name: torch.tensor(numpy_helper.to_array(t).copy()).float() for t in model.graph.initializer}
    a, b = w.pop("normalise.a"), w.pop("normalise.b")
    net = getattr(torchvision.models, name)(weights=None)
    net.fc = torch.nn.Identity()
    missing, unexpected = net.load_state_dict(w, strict=False)
    assert not unexpected and all(m.endswith("num_batches_tracked") for m in missing), (missing, unexpected)
    peak, dead = [0.0], []

    def watch(layer, _, out):
        peak[0] = max(peak[0], out.abs().max().item())
        if not out.std() > 1e-2:
            dead.append(layer)

    for layer in net.modules():
        if not list(layer.children()):
            layer.register_forward_hook(watch)
    with torch.no_grad():
        return net.eval()(x * a + b), peak[0], dead


ok = True
for name, fp16 in [("resnet18", []), ("resnet34", []), ("resnet50", []), ("resnet101", []), ("resnet152", []),
                   ("resnet50", ["--fp16"])]:
    with tempfile.TemporaryDirectory() as d:
        subprocess.run([sys.argv[1], "model", "--model", name, "--output", f"{d}/m.onnx"] + fp16, check=True,
                       stdout=subprocess.DEVNULL)
        f, peak, dead = features(name, f"{d}/m.onnx")
    spread = (f.std(0) / f.abs().mean()).mean().item()
    print(f"{name} {' '.join(fp16)}: peak activation {peak:.1f}, feature spread {spread:.3f}, dead layers {len(dead)}")
    ok &= peak < 1000 and spread > 0.02 and not dead
    if name == "resnet50" and not fp16:
        single = f
error = ((f - single).norm(dim=1) / single.norm(dim=1)).max().item()
print(f"resnet50, FLOAT16 weights against FLOAT: {error:.1e}")
sys.exit(0 if ok and 0 < error < 1e-2 else 1)
