#!/usr/bin/python3
"""export_resnet_onnx.py: torchvision's ResNets as the feature extractors that resnet50_inference reads.

Input "input": FLOAT16 (batch, 3, 224, 224), R,G,B, pixel - 128. A Cast to FLOAT follows at once, then
x * a + b with a = 1/(255 std), b = (128/255 - mean)/std; all else is FLOAT. Output "features": FLOAT (batch, 512 or
2048). Needs python3-torch, python3-torchvision and python3-onnx. Pretrained weights need a network once (torchvision
keeps them); --weights none needs none."""
import argparse
import os
import sys

MODELS = ["resnet18", "resnet34", "resnet50", "resnet101", "resnet152"]
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
OPSET_MAX = 17


def need(*modules):
    import importlib
    try:
        return [importlib.import_module(m) for m in modules]
    except ImportError as e:
        sys.exit(f"export_resnet_onnx.py: {e}; on Debian: apt install python3-torch python3-torchvision python3-onnx")


def randomise_norms(net, torch):
    """Batch normalisation that does something; the last of a block is damped, or the sum over many blocks grows
    without bound."""
    blocks = [b for layer in (net.layer1, net.layer2, net.layer3, net.layer4) for b in layer]
    last = {b.bn3 if hasattr(b, "bn3") else b.bn2 for b in blocks}
    for m in net.modules():
        if isinstance(m, torch.nn.BatchNorm2d):
            scale = (4 / len(blocks)) ** 0.5 if m in last else 1
            torch.nn.init.uniform_(m.weight, 0.75 * scale, 1.25 * scale)
            torch.nn.init.uniform_(m.running_var, 0.5, 1.5)
            for t in (m.bias, m.running_mean):
                torch.nn.init.uniform_(t, -0.125, 0.125)


def load(args, torch, torchvision):
    build = getattr(torchvision.models, args.model)
    if args.weights == "imagenet":
        try:
            net = build(weights="IMAGENET1K_V1")
        except OSError as e:  # URLError and HTTPError are kinds of it
            sys.exit(f"export_resnet_onnx.py: torchvision's weights cannot be had ({e}); "
                     "use --weights none, or --weights FILE with a state_dict")
    else:
        torch.manual_seed(args.seed)
        net = build(weights=None)
        if args.weights == "none":
            randomise_norms(net, torch)
        else:
            net.load_state_dict(torch.load(args.weights, map_location="cpu", weights_only=True))
    net.fc = torch.nn.Identity()
    return net.eval()


def wrap(net, torch):
    class Extractor(torch.nn.Module):
        def __init__(self):
            super().__init__()
            std = torch.tensor(STD, dtype=torch.float64)
            b = (128 / 255 - torch.tensor(MEAN, dtype=torch.float64)) / std
            self.register_buffer("a", (1 / (255 * std)).float().reshape(1, 3, 1, 1))
            self.register_buffer("b", b.float().reshape(1, 3, 1, 1))
            self.net = net

        def forward(self, x):
            return self.net(x.float() * self.a + self.b)

    return Extractor().eval()


def interpret(model, x, torch, onnx):
    """The file's nodes, one by one: an opinion of its own about what was written."""
    fn, v = torch.nn.functional, {"input": x}
    for t in model.graph.initializer:
        v[t.name] = torch.tensor(onnx.numpy_helper.to_array(t).copy())
    for n in model.graph.node:
        a = {p.name: onnx.helper.get_attribute_value(p) for p in n.attribute}
        i, pads = [v[name] for name in n.input], a.get("pads", [0] * 4)
        if n.op_type == "Constant":
            out = torch.tensor(onnx.numpy_helper.to_array(a["value"]).copy())
        elif n.op_type == "Cast":
            out = i[0].float()
        elif n.op_type in ("Mul", "Add"):
            out = i[0] * i[1] if n.op_type == "Mul" else i[0] + i[1]
        elif n.op_type == "Conv":
            out = fn.conv2d(i[0], i[1], i[2] if len(i) > 2 else None, a["strides"], pads[:2], a.get("dilations", 1),
                            a.get("group", 1))
        elif n.op_type == "BatchNormalization":
            out = fn.batch_norm(i[0], i[3], i[4], i[1], i[2], False, 0, a.get("epsilon", 1e-5))
        elif n.op_type == "Relu":
            out = fn.relu(i[0])
        elif n.op_type == "MaxPool":
            out = fn.max_pool2d(i[0], a["kernel_shape"], a["strides"], pads[:2])
        elif n.op_type == "GlobalAveragePool":
            out = i[0].mean((2, 3), keepdim=True)
        elif n.op_type in ("Flatten", "Identity"):
            out = i[0].flatten(1) if n.op_type == "Flatten" else i[0]
        else:
            sys.exit(f"export_resnet_onnx.py: {n.op_type}, node {n.name}: not an operator of a ResNet")
        v[n.output[0]] = out
    return v["features"]


def check(args, module, torch, onnx):
    model = onnx.load(args.output, load_external_data=False)
    onnx.checker.check_model(model, full_check=True)
    g, half, single = model.graph, onnx.TensorProto.FLOAT16, onnx.TensorProto.FLOAT
    opset = max(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
    ops = [n.op_type for n in g.node if n.op_type not in ("Constant", "Identity")]
    problems = []
    if g.input[0].name != "input" or g.input[0].type.tensor_type.elem_type != half:
        problems.append("the input is not FLOAT16 'input'")
    if g.output[0].name != "features" or g.output[0].type.tensor_type.elem_type != single:
        problems.append("the output is not FLOAT 'features'")
    if ops[:3] != ["Cast", "Mul", "Add"]:
        problems.append(f"begins with {ops[:3]}, not Cast, Mul, Add")
    if opset > OPSET_MAX:
        problems.append(f"operator set {opset} is above {OPSET_MAX}")
    if any(t.data_type == half or t.data_location == onnx.TensorProto.EXTERNAL for t in g.initializer):
        problems.append("a weight is FLOAT16 or outside the file")
    x = torch.randint(-128, 128, (3, 3, 224, 224), generator=torch.Generator().manual_seed(2)).half()
    with torch.no_grad():
        want, got = module(x), interpret(model, x, torch, onnx)
    error = ((got - want).norm(dim=1) / want.norm(dim=1)).max().item()
    if not error <= 1e-4:
        problems.append(f"features differ by {error:.1e} from the module that was exported")
    for p in problems:
        print(f"check: {p}", file=sys.stderr)
    if problems:
        sys.exit(1)
    print(f"check: ok, operator set {opset}, {len(ops)} nodes, {want.shape[1]} features, error {error:.1e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=MODELS, default="resnet50")
    parser.add_argument("--output", required=True, metavar="FILE.onnx")
    parser.add_argument("--weights", default="imagenet", metavar="none|imagenet|FILE",
                        help="random, torchvision's pretrained (default), or a state_dict")
    parser.add_argument("--seed", type=int, default=1, help="of --weights none")
    parser.add_argument("--opset", type=int, default=13, choices=range(11, OPSET_MAX + 1), metavar=f"11..{OPSET_MAX}")
    parser.add_argument("--check", action="store_true", help="read the file back and compare its features")
    args = parser.parse_args()
    torch, torchvision, onnx = need("torch", "torchvision", "onnx")
    need("onnx.numpy_helper", "onnx.checker")
    torch.set_num_threads(min(2, os.cpu_count() or 1))
    module = wrap(load(args, torch, torchvision), torch)
    os.makedirs(os.path.dirname(args.output) or ".", exist_ok=True)
    with torch.no_grad():
        torch.onnx.export(module, torch.zeros(2, 3, 224, 224, dtype=torch.float16), args.output,
                          opset_version=args.opset, input_names=["input"], output_names=["features"],
                          dynamic_axes={"input": {0: "batch"}, "features": {0: "batch"}})
    print(f"{args.output}: {args.model}, weights {args.weights}, {os.path.getsize(args.output)} bytes")
    if args.check:
        check(args, module, torch, onnx)


if __name__ == "__main__":
    main()
