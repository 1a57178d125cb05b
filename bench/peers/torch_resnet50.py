#!/usr/bin/env python3
"""bench/peers/torch_resnet50.py [--batches 1,32,256]: ResNet-50 features in fp16 on the GPU three ways, as peers
of bench_gpu_nn in the same run: PyTorch eager (channels last), the same in a CUDA graph, and with batch norm
folded and every convolution fused through cuDNN (conv + bias + relu, conv + add + bias + relu) in a CUDA graph.
One JSON line a way and batch. Random weights: speed only."""
import argparse
import json
import statistics
import time

import torch
import torchvision


def folded(conv, bn):
    scale = bn.weight / torch.sqrt(bn.running_var + bn.eps)
    w = conv.weight * scale[:, None, None, None]
    b = bn.bias - bn.running_mean * scale
    return (w.half().contiguous(memory_format=torch.channels_last), b.half(), conv.stride, conv.padding,
            conv.dilation, conv.groups)


def conv_relu(x, p):
    w, b, s, pad, d, g = p
    return torch.cudnn_convolution_relu(x, w, b, s, pad, d, g)


def conv_add_relu(x, p, z):
    w, b, s, pad, d, g = p
    return torch.cudnn_convolution_add_relu(x, w, z, 1.0, b, s, pad, d, g)


def conv_only(x, p):
    w, b, s, pad, d, g = p
    return torch.nn.functional.conv2d(x, w, b, s, pad, d, g)


class Fused:
    def __init__(self, net):
        self.stem = folded(net.conv1, net.bn1)
        self.pool = net.maxpool
        self.blocks = []
        for layer in (net.layer1, net.layer2, net.layer3, net.layer4):
            for b in layer:
                down = folded(b.downsample[0], b.downsample[1]) if b.downsample is not None else None
                self.blocks.append((folded(b.conv1, b.bn1), folded(b.conv2, b.bn2), folded(b.conv3, b.bn3), down))

    def __call__(self, x):
        x = self.pool(conv_relu(x, self.stem))
        for c1, c2, c3, down in self.blocks:
            z = x if down is None else conv_only(x, down)
            x = conv_add_relu(conv_relu(conv_relu(x, c1), c2), c3, z)
        return x.mean((2, 3))


def graphed(f, x):
    s = torch.cuda.Stream()
    with torch.cuda.stream(s):
        for _ in range(3):
            f(x)
    torch.cuda.synchronize()
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        f(x)
    return g.replay


def ms(f, n):
    inner = 20 if n >= 128 else 60
    times = []
    for r in range(8):
        torch.cuda.synchronize()
        t0 = time.perf_counter()
        for _ in range(inner):
            f()
        torch.cuda.synchronize()
        if r:
            times.append((time.perf_counter() - t0) * 1e3 / inner)
    return statistics.median(times)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--batches", default="1,32,256")
    a = ap.parse_args()
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.deterministic = False
    net = torchvision.models.resnet50(weights=None).eval()
    fused = None
    with torch.no_grad():
        net = net.cuda()
        fused = Fused(net)
        net.fc = torch.nn.Identity()
        net = net.half().to(memory_format=torch.channels_last)
        print(json.dumps({"peer": "torch", "version": torch.__version__, "cudnn": torch.backends.cudnn.version(),
                          "card": torch.cuda.get_device_name()}))
        for n in (int(b) for b in a.batches.split(",")):
            x = torch.randn(n, 3, 224, 224, device="cuda").half().contiguous(memory_format=torch.channels_last)
            for way, f in (("eager", lambda: net(x)), ("graph", graphed(net, x)), ("fused_graph", graphed(fused, x))):
                t = ms(f, n)
                print(json.dumps({"peer": "torch", "way": way, "batch": n, "ms": round(t, 4),
                                  "img_s": round(n / t * 1e3)}), flush=True)


main()
