#!/bin/sh
# bench/peers/onnxruntime.sh MODEL.onnx [options of onnxruntime.js]: installs npm's onnxruntime-node into a temporary
# folder (GW_ORT_DIR keeps it between runs), then times it. Needs node, npm and a package registry.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=${GW_ORT_DIR:-$(mktemp -d)}
[ -n "${GW_ORT_DIR:-}" ] || trap 'rm -rf "$dir"' EXIT
[ -d "$dir/node_modules/onnxruntime-node" ] ||
	npm install --silent --ignore-scripts --prefix "$dir" onnxruntime-node >&2
NODE_PATH=$dir/node_modules node "$here/onnxruntime.js" "$@"
