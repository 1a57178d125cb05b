#!/usr/bin/python3
"""blocks.py SOURCE_DIR: each exported call has a comment that says what it returns, from which threads it may be
called, who owns what, and whether it blocks. Calls that follow one another without a comment share one."""
import os
import re
import sys

os.chdir(sys.argv[1])
WANT = {
    "what it returns": r"\breturn",
    "its threads": r"\bthread",
    "ownership": r"\b(own(s|ed|er|ership)?|borrow(s|ed)?|lent)\b",
    "whether it blocks": r"\bblock(s|ing)?\b",
}
symbols = re.findall(r"^\t(gw_\w+);", open("src/gpuwire.map").read(), re.M)
bad = 0
blocks = {}
for name in sorted(os.listdir("include/gpuwire")):
    text = open(f"include/gpuwire/{name}").read()
    comment = ""
    for m in re.finditer(r"/\*.*?\*/|GW_API\b[^;]*;|^(?:struct|enum|typedef)\b[^;{]*\{.*?^\};|^#[^\n]*", text, re.S | re.M):
        piece = m.group(0)
        if piece.startswith("/*"):
            comment = piece
        elif piece.startswith("GW_API"):
            sym = re.search(r"\b(gw_\w+)\(", piece).group(1)
            blocks[sym] = (name, comment, len(text[: m.start()].splitlines()) + 1)
        else:
            comment = ""
for sym in symbols:
    if sym not in blocks:
        print(f"{sym}: declared in no header")
        bad += 1
        continue
    name, comment, line = blocks[sym]
    lacks = [what for what, words in WANT.items() if not re.search(words, comment, re.I)]
    if lacks:
        print(f"include/gpuwire/{name}:{line}: {sym}: its comment does not say {', '.join(lacks)}")
        bad += 1
print(f"{len(symbols)} calls, {bad} without a whole comment")
sys.exit(1 if bad or len(symbols) < 50 else 0)
