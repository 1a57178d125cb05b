#!/usr/bin/python3
"""pages.py BIN_DIR: a page has its sections, names pages that exist, and, for a program, every option that its --help
lists and no other. Programs that are not built are left out, and counted."""
import glob
import os
import re
import subprocess
import sys

os.chdir(os.path.dirname(os.path.abspath(__file__)))
bin_dir = sys.argv[1]
bad = n_options = absent = 0
pages = {os.path.basename(f)[:-4] for f in glob.glob("*.scd")}
called = set(pages)  # and what their NAME sections list: installed as other names of the same page
for f in glob.glob("*.scd"):
    line = re.search(r"^# NAME\n+(.*) - ", open(f).read(), re.M).group(1).replace("\\", "")
    called |= {f"{n}.{f[-5]}" for n in line.split(", ")}
SECTIONS = {"1": ["NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "SEE ALSO"],
            "8": ["NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "SEE ALSO"],
            "3": ["NAME", "SYNOPSIS", "DESCRIPTION", "RETURN VALUE", "SEE ALSO"],
            "5": ["NAME", "DESCRIPTION"], "7": ["NAME", "DESCRIPTION"]}
ALWAYS = {"--help", "--usage", "--version"}


def fault(page, what):
    global bad
    bad += 1
    print(f"man/{page}.scd: {what}")


def help_of(page):
    name = page.rsplit(".", 1)[0]
    words = name.split("-", 1) if name.startswith("gpuwire-") else [name]
    program = os.path.join(bin_dir, words[0])
    if not os.path.exists(program):
        return None
    return subprocess.run([program, *words[1:], "--help"], capture_output=True, text=True, timeout=20).stdout


for page in sorted(pages):
    text = open(page + ".scd").read()
    plain = re.sub(r"\\(.)", r"\1", text)
    section = page[-1]
    if not text.startswith(f"{page.rsplit('.', 1)[0]}({section})"):
        fault(page, "its first line is another page's")
    heads = re.findall(r"^# (.*)$", text, re.M)
    for want in SECTIONS[section]:
        if want not in heads:
            fault(page, f"no section {want}")
    for name, s in re.findall(r"\*([\w-]+)\*\((\d)\)", plain):
        near = name.startswith(("gpuwire", "gw_", "urom", "resnet50"))
        if near and f"{name}.{s}" not in called:
            fault(page, f"names {name}({s}), which is not there")
    if section not in "18":
        continue
    out = help_of(page)
    if out is None:
        absent += 1
        continue
    listed = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", out)) - ALWAYS
    told = set(re.findall(r"(?<![\w-])\*--([a-z][\w-]*)\*", plain))
    told = {"--" + t for t in told} - ALWAYS
    n_options += len(listed)
    for o in sorted(listed - told):
        fault(page, f"{o} is not told")
    for o in sorted(told - listed):
        fault(page, f"{o} is no option of the program")
print(f"{len(pages)} pages, {n_options} options, {absent} programs not built, {bad} faults")
sys.exit(1 if bad or not n_options else 0)
