#!/bin/sh
# docs/walk.md names functions in the order in which a packet reaches them: true? A debugger says so.
# usage: run.sh SOURCE BUILD; builds without optimisation in BUILD/walk, so that no function is inlined.
set -u
src=$1
dir=$2/walk
command -v gdb >/dev/null || { echo "SKIP: no gdb; apt-get install gdb"; exit 77; }
cmake -S "$src" -B "$dir" -DCMAKE_BUILD_TYPE=Debug -DWITH_CUDA=OFF -DCMAKE_C_FLAGS_DEBUG="-O0 -g" >"$dir.log" 2>&1 &&
	cmake --build "$dir" --target walk_one -j 2 >>"$dir.log" 2>&1 || {
	tail -20 "$dir.log"
	exit 1
}
# | 1 | `function` | `file` | ... -> a one-time breakpoint that says its number and goes on
sed -n 's/^| *\([0-9]*\) | `\([a-z_0-9]*\)` | `\([^`]*\)` |.*/\1 \2 \3/p' "$src/docs/walk.md" >"$dir.steps"
{
	echo "set pagination off"
	echo "set confirm off"
	echo "set breakpoint pending off"
	while read -r n fn file; do
		printf 'tbreak %s:%s\ncommands\nsilent\nprintf "HIT %s\\n"\ncontinue\nend\n' "$file" "$fn" "$n"
	done <"$dir.steps"
	echo run
} >"$dir.gdb"
timeout 60 gdb -nx -batch -x "$dir.gdb" "$dir/tests/walk_one" >"$dir.out" 2>&1
if grep -qi "ptrace: Operation not permitted\|Could not trace the inferior" "$dir.out"; then
	echo "SKIP: ptrace is forbidden here"
	exit 77
fi
want=$(cut -d' ' -f1 "$dir.steps" | tr '\n' ' ')
got=$(sed -n 's/^HIT //p' "$dir.out" | tr '\n' ' ')
echo "docs/walk.md: $want"
echo "gdb:          $got"
[ "$want" = "$got" ] && [ "$(wc -l <"$dir.steps")" -ge 8 ] && exit 0
tail -40 "$dir.out"
exit 1
