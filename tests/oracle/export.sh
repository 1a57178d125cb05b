#!/bin/sh
# export.sh EXPORTER: the exporter without a network; its own --check compares features. Skips without torch.
/usr/bin/python3 -c 'import torch, torchvision, onnx' 2>/dev/null ||
	{ echo "SKIP: python3-torch, python3-torchvision or python3-onnx is not installed"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
/usr/bin/python3 "$1" --model resnet18 --weights none --output "$dir/m.onnx" --check || exit 1
/usr/bin/python3 "$1" --model resnet18 --weights none --output "$dir/m.onnx" --opset 18 2>/dev/null && exit 1
exit 0
