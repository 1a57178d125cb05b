#!/bin/sh
# Each symbol the library exports is declared in a public header, has a manual page and a test that names it.
# usage: symbols.sh SOURCE_DIR
set -u
cd "$1" || exit 1
bad=0
n=0
for s in $(sed -n 's/^\t\(gw_[a-z0-9_]*\);$/\1/p' src/gpuwire.map); do
	n=$((n + 1))
	grep -qw "$s" include/gpuwire/*.h || { echo "$s: in no header"; bad=$((bad + 1)); }
	sed 's/\\_/_/g' man/*.3.scd | grep -qw "$s" || { echo "$s: on no manual page"; bad=$((bad + 1)); }
	grep -rqw --include='*.[ch]' --include='*.sh' --include='*.py' "$s" tests || { echo "$s: in no test"; bad=$((bad + 1)); }
done
echo "$n symbols, $bad failures"
[ "$n" -ge 50 ] && [ "$bad" -eq 0 ]
