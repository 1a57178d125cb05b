#!/bin/sh
# Each public header by itself, as C11 and as C++17, with every warning an error. usage: run.sh INCLUDE_DIR
set -u
inc=$1
cc=${CC:-cc}
cxx=${CXX:-c++}
command -v "$cxx" >/dev/null || { echo "SKIP: no C++ compiler ($cxx)"; exit 77; }
bad=0
n=0
for h in "$inc"/*/*.h "$inc"/*/*/*.h; do
	[ -f "$h" ] || continue
	rel=${h#"$inc"/}
	n=$((n + 1))
	for try in "$cc -std=c11 -x c" "$cxx -std=c++17 -x c++"; do
		printf '#include <%s>\n#include <%s>\n' "$rel" "$rel" |
			$try -Wall -Wextra -Werror -I"$inc" -I"$inc/doca" -fsyntax-only - || {
			echo "FAIL: $try <$rel>"
			bad=$((bad + 1))
		}
	done
done
echo "$n headers, $bad failures"
[ "$n" -ge 11 ] && [ "$bad" -eq 0 ]
