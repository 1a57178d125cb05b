#!/usr/bin/python3
"""nn_torch.py TOOL CLI MODEL [N] [PRECISION]: the same file interpreted by torch in FLOAT, every FLOAT16 value
widened, against the features that TOOL (nn_features) gives. MODEL is a file, or options for `CLI model` joined
by commas (--model=resnet18,--seed=2,--fp16). Exit 1 above the bound, 77 without torch.
fp32: largest ||a-b||/||b|| of an image <= 1e-4; bf16, int8: smallest cosine >= 0.999."""
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import torch
    import torch.nn.functional as F
    from onnx import numpy_helper
except ImportError as e:
    print("SKIP:", e)
    sys.exit(77)


def pool(x, a, f):
    p = a.get("pads", [0, 0, 0, 0])
    assert p[:2] == p[2:]
    return f(x, a["kernel_shape"], a.get("strides", [1, 1]), p[:2])


def conv(a, x, w, b=None):
    p = a.get("pads", [0, 0, 0, 0])
    x = F.pad(x, (p[1], p[3], p[0], p[2]))
    return F.conv2d(x, w, b, a.get("strides", [1, 1]), 0, a.get("dilations", [1, 1]), a.get("group", 1))


OPS = {
    "Conv": conv,
    "Identity": lambda a, x: x,
    "Cast": lambda a, x: x,
    "Relu": lambda a, x: torch.relu(x),
    "Add": lambda a, x, y: x + y,
    "Mul": lambda a, x, y: x * y,
    "Flatten": lambda a, x: x.flatten(1),
    "Reshape": lambda a, x, s: x.reshape(x.shape[0], -1),
    "BatchNormalization": lambda a, x, g, b, m, v: F.batch_norm(x, m, v, g, b, eps=a.get("epsilon", 1e-5)),
    "MaxPool": lambda a, x: pool(x, a, F.max_pool2d),
    "AveragePool": lambda a, x: pool(x, a, lambda *k: F.avg_pool2d(
        *k, count_include_pad=bool(a.get("count_include_pad", 0)))),
    "GlobalAveragePool": lambda a, x: x.mean((2, 3), keepdim=True),
    "Gemm": lambda a, x, w, c=0: a.get("alpha", 1.0) * (x @ (w.T if a.get("transB") else w)) + a.get("beta", 1.0) * c,
}


def wide(t):
    v = numpy_helper.to_array(t)
    return torch.from_numpy(v.astype(np.float32) if v.dtype == np.float16 else v.copy())


def interpret(graph, x):
    values = {t.name: wide(t) for t in graph.initializer}
    values[next(i.name for i in graph.input if i.name not in values)] = x
    for node in graph.node:
        a = {k.name: onnx.helper.get_attribute_value(k) for k in node.attribute}
        if node.op_type == "Constant":
            values[node.output[0]] = wide(a["value"])
        else:
            args = [values[i] if i else None for i in node.input]
            values[node.output[0]] = OPS[node.op_type](a, *args)
    return values[graph.output[0].name]


def main():
    tool, cli, model = sys.argv[1:4]
    n = int(sys.argv[4]) if len(sys.argv) > 4 else 6
    precision = sys.argv[5] if len(sys.argv) > 5 else "fp32"
    torch.set_num_threads(2)
    with tempfile.TemporaryDirectory() as d:
        path = model
        if model.startswith("--"):
            path = d + "/model.onnx"
            subprocess.run([cli, "model", *model.split(","), "-o", path], check=True, stdout=subprocess.DEVNULL)
        graph = onnx.load(path).graph
        shape = [n] + [v.dim_value for v in graph.input[0].type.tensor_type.shape.dim[1:]]
        x = np.random.default_rng(5).integers(-128, 128, shape).astype(np.float16)
        x.tofile(d + "/in")
        subprocess.run([tool, path, d + "/in", str(max(1, n - 2)), d + "/out", precision], check=True)
        mine = np.fromfile(d + "/out", np.float32).reshape(n, -1).astype(np.float64)
    with torch.no_grad():
        theirs = torch.cat([interpret(graph, torch.from_numpy(x[i:i + 4].astype(np.float32)))
                            for i in range(0, n, 4)]).numpy().reshape(n, -1).astype(np.float64)
    far = np.linalg.norm(mine - theirs, axis=1) / np.linalg.norm(theirs, axis=1)
    cos = (mine * theirs).sum(1) / np.linalg.norm(mine, axis=1) / np.linalg.norm(theirs, axis=1)
    print(f"{model}: {precision}, {n} images, largest ||a-b||/||b|| {far.max():.2e}, smallest cosine {cos.min():.6f}")
    sys.exit(not (far.max() <= 1e-4 if precision == "fp32" else cos.min() >= 0.999))


main()
