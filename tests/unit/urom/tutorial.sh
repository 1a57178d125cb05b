#!/bin/bash
# docs/urom.md: its plugin is the file that is built, has under 100 lines, and does what the page says.
# usage: tutorial.sh SOURCE_DIR BUILD_DIR
set -eu
src=$1 build=$2 tmp=$(mktemp -d /tmp/urom-tut-XXXXXX)
daemon=
trap '[ -z "$daemon" ] || kill $daemon 2>/dev/null; rm -rf "$tmp"' EXIT
awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' "$src/docs/urom.md" >"$tmp/tutorial_upper.c"
cmp "$tmp/tutorial_upper.c" "$src/examples/urom_tutorial/tutorial_upper.c"
n=$(wc -l <"$tmp/tutorial_upper.c")
[ "$n" -lt 100 ] || { echo "$n lines"; exit 1; }
mkdir "$tmp/plugins"
${CC:-gcc} -Wall -Wextra -Werror ${SANITIZE:+-fsanitize=$SANITIZE} -shared -fPIC -I"$src/include/doca" \
	-o "$tmp/plugins/tutorial_upper.so" "$tmp/tutorial_upper.c"
chmod 755 "$tmp/plugins" "$tmp/plugins/tutorial_upper.so"
"$build/bin/uromd" -e "unix:$tmp/s" -p "$tmp/plugins" --ready-fd 1 >"$tmp/ready" 2>"$tmp/log" &
daemon=$!
for i in $(seq 100); do grep -q ready "$tmp/ready" && break; sleep 0.05; done
out=$(DOCA_UROM_ENDPOINT=unix:$tmp/s "$build/bin/tutorial_host" "from scratch")
echo "$out ($n lines)"
[ "$out" = "DOCA_SUCCESS: FROM SCRATCH" ] || { cat "$tmp/log"; exit 1; }
