#!/usr/bin/python3
"""names.py SOURCE_DIR: what pages name in `backticks` exists: files of the tree, and calls, structs, macros and CMake
functions of ours. In adding-an-engine.md every name counts; elsewhere, paths and names that begin as ours do."""
import os
import re
import subprocess
import sys

os.chdir(sys.argv[1])
tracked = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True).stdout.split("\n")
folders = {os.path.dirname(f) for f in tracked}
for f in list(folders):
    while f:
        f = os.path.dirname(f)
        folders.add(f)
code = "\n".join(open(f, errors="replace").read() for f in tracked
                 if os.path.isfile(f) and not f.startswith("docs/") and not f.startswith("tests/style/")
                 and re.search(r"\.(c|h|cu|cuh|map|py|sh|cmake|scd|in|json|yaml)$|CMakeLists\.txt|Makefile|^tools/", f))
words = set(re.findall(r"\w+", code))
TOPS = ("src/", "include/", "tests/", "apps/", "bench/", "examples/", "tools/", "docs/", "man/", "cmake/", "plugins/",
        "packaging/")
bad = n = 0


def exists(path):
    path = path.rstrip("/")
    return path in tracked or path in folders or os.path.exists(path)


for page in sorted(f for f in tracked if re.match(r"docs/[^/]*\.md$|apps/.*/README\.md$|README\.md$", f)):
    text = re.sub(r"^```.*?^```", lambda m: "\n" * m.group(0).count("\n"), open(page).read(), flags=re.S | re.M)
    whole = page == "docs/adding-an-engine.md"
    for m in re.finditer(r"`([^`\n]+)`", text):
        what, line = m.group(1), text[: m.start()].count("\n") + 1
        if "NAME" in what or "*" in what or "<" in what:
            continue
        if what.startswith(TOPS):
            path = what.split()[0].split(":")[0]
            ok = exists(path) or exists(os.path.join(os.path.dirname(page), path))
        elif re.fullmatch(r"(struct )?(gw_|gw__|GW_|GW__|gpuwire_|doca_|urom_)\w+(\(\))?", what):
            ok = re.sub(r"struct |\(\)", "", what) in words
        elif whole and re.fullmatch(r"[A-Za-z_]\w+(\(\))?", what):
            ok = what.rstrip("()") in words
        else:
            continue
        n += 1
        if not ok:
            print(f"{page}:{line}: `{what}` is not there")
            bad += 1
print(f"{n} names, {bad} not there")
sys.exit(1 if bad or n < 60 else 0)
