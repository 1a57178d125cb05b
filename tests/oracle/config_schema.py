#!/usr/bin/python3
"""config_schema.py GPUWIRE: `gpuwire config schema` is valid JSON Schema; by Python's jsonschema every good file of the
tree fits it, and each kind of wrong value does not."""
import copy
import glob
import json
import os
import subprocess
import sys

try:
    import jsonschema
    import yaml
except ImportError as e:
    print("SKIP:", e)
    sys.exit(77)

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
text = subprocess.run([sys.argv[1], "config", "schema"], capture_output=True, text=True, check=True).stdout
schema = json.loads(text)
jsonschema.Draft202012Validator.check_schema(schema)
judge = jsonschema.Draft202012Validator(schema)
failed = 0


def want(good, doc, what):
    global failed
    errors = list(judge.iter_errors(doc))
    if good == bool(errors):
        failed += 1
        print(what, "should fit" if good else "should not fit", [e.message[:120] for e in errors[:3]])


files = glob.glob(root + "/tests/unit/config/files/*.yaml") + glob.glob(root + "/apps/*/configs/*.yaml")
for f in files:
    want(True, yaml.safe_load(open(f)), f)

good = yaml.safe_load(open(root + "/apps/resnet50_inference/configs/resnet50_sw_loopback.yaml"))
region = ("daqiri", "cfg", "memory_regions", 0)
rx = ("daqiri", "cfg", "interfaces", 1, "rx")
wrong = [
    (region + ("num_bufs",), 0), (region + ("num_bufs",), 2**32), (region + ("num_bufs",), "many"),
    (region + ("kind",), "hugs"), (region + ("access",), "local"), (region + ("owned",), "maybe"),
    (rx + ("queues",), {}), (rx + ("queues", 0, "id"), 32), (rx + ("queues", 0, "memory_regions"), "Data_RX_GPU"),
    (rx + ("flows", 0, "action", "type"), "sink"), (rx + ("flows", 0, "match"), 4096),
    (("daqiri", "cfg", "manager"), "dpdk"), (("reorder", "seq_bit_width"), 33), (("inference",), []),
    (("bench_rx", "queue_id"), -2), (("daqiri",), {}), (("daqiri", "cfg", "version"), None),
]
for path, value in wrong:
    doc = copy.deepcopy(good)
    at = doc
    for part in path[:-1]:
        at = at[part]
    at[path[-1]] = value
    want(False, doc, f"{'.'.join(map(str, path))} = {value!r}")
doc = copy.deepcopy(good)
del doc["daqiri"]["cfg"]["memory_regions"][0]["buf_size"]
want(False, doc, "a region without buf_size")
print(f"{len(files)} files fit, {len(wrong) + 1} wrong ones do not, {failed} failed")
sys.exit(1 if failed or len(files) < 36 else 0)
