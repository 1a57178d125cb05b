#!/usr/bin/env python3
"""compare.py MODEL.onnx [--build DIR] [--batch N] [--threads N] [--rounds N] [--seconds S] [--ort] [--json FILE]
           [--input FILE.f16] [--wide N]
gpuwire's inference against the bare oneDNN chain of the same layers, fp32, bf16 and int8, and against ONNX
Runtime fp32 (--ort: npm's package, see bench/peers/onnxruntime.sh), in alternating short rounds of one run, so
that a busy machine slows all alike; nobody's threads spin while they wait. Ratios are medians of the per-round ratios. MODEL must be a ResNet-50."""
import argparse
import json
import os
import statistics
import subprocess

here = os.path.dirname(os.path.abspath(__file__))
p = argparse.ArgumentParser()
p.add_argument("model")
p.add_argument("--build", default=os.path.join(here, "../../build/release"))
p.add_argument("--batch", default="32")
p.add_argument("--threads", default="2")
p.add_argument("--rounds", type=int, default=7)
p.add_argument("--seconds", default="1")
p.add_argument("--precisions", default="fp32,bf16,int8")
p.add_argument("--ort", action="store_true")
p.add_argument("--wide", default="0", help="int8: convolutions that gpuwire leaves in bf16 (it says so when it opens)")
p.add_argument("--input", help="a batch of samples, raw FLOAT16: int8 is calibrated from them (else from noise)")
p.add_argument("--json")
a = p.parse_args()


class Side:
    """A program that answers one number for each line: one round."""

    def __init__(self, *cmd):
        self.p = subprocess.Popen([*cmd, "--batch", a.batch, "--threads", a.threads, "--seconds", a.seconds,
                                   "--lockstep"], env={"OMP_WAIT_POLICY": "passive", **os.environ}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.rates = []

    def round(self):
        self.p.stdin.write("go\n")
        line = self.p.stdout.readline()
        if not line:
            raise SystemExit(f"{self.p.args[0]} ended")
        self.rates.append(float(line))

    def close(self):
        self.p.stdin.close()
        self.p.wait()


bin_dir = os.path.join(a.build, "bin")
precisions = a.precisions.split(",")
given = ["--input", a.input] if a.input else []
sides = {}
for q in precisions:
    sides["gpuwire " + q] = Side(bin_dir + "/nn_rate", a.model, "--precision", q, *given)
    sides["chain " + q] = Side(bin_dir + "/onednn_chain", "--precision", q, "--wide", a.wide)
if a.ort:
    sides["onnxruntime"] = Side(os.path.join(here, "../peers/onnxruntime.sh"), a.model)
for n, s in list(sides.items()):  # warm, and all are known to be up
    try:
        s.round()
        s.rates.clear()
    except (SystemExit, BrokenPipeError):
        q = n.split()[-1]
        if q == precisions[0] or n == "onnxruntime":
            raise SystemExit(f"{n} does not run here")
        print(f"{n} does not run on this CPU: {q} is left out")
        sides.pop(n)
for q in precisions[:]:
    if len({"gpuwire " + q, "chain " + q} & set(sides)) < 2:
        precisions.remove(q)
        sides = {k: v for k, v in sides.items() if k.split()[-1] != q}
names = list(sides)
for i in range(a.rounds):
    for n in names if i % 2 == 0 else reversed(names):
        sides[n].round()
for s in sides.values():
    s.close()


def ratio(x, y):
    return statistics.median(p / q for p, q in zip(sides[x].rates, sides[y].rates))


out = {"batch": int(a.batch), "threads": int(a.threads), "rounds": a.rounds,
       "images_per_s": {n: round(statistics.median(s.rates), 2) for n, s in sides.items()}, "ratios": {}}
for n, s in sides.items():
    print(f"{n:16} {statistics.median(s.rates):8.2f} images/s  [{min(s.rates):.2f} .. {max(s.rates):.2f}]")
for q, aim in (("fp32", 1.0), ("bf16", 1.8), ("int8", 3.5)):
    if q not in precisions:
        continue
    r = out["ratios"][f"{q} / chain"] = round(ratio("gpuwire " + q, "chain " + q), 3)
    print(f"{q} / bare chain  {r:.3f}  (bar 0.97)")
    if a.ort:
        r = out["ratios"][f"{q} / onnxruntime fp32"] = round(ratio("gpuwire " + q, "onnxruntime"), 3)
        print(f"{q} / ONNX Runtime fp32  {r:.3f}  (aim {aim})")
if a.json:
    with open(a.json, "w") as f:
        json.dump(out, f, indent=1)
