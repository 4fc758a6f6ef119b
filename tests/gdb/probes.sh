#!/bin/sh
# probes.sh BUILD-DIR: the static probes of the recorder are notes of the file with a semaphore, and a
# tracer that arms one, here gdb, stops there with its arguments although nothing is recorded.
set -u
program=$1/examples/pipeline
skip() { echo "skipped: $1"; exit 77; }

[ -x "$program" ] || skip "no $program"
command -v readelf >/dev/null || skip "no readelf"
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
grep -q 'CCC_HAVE_SDT_H:INTERNAL=1' "$1/CMakeCache.txt" || skip "built without sys/sdt.h"
grep -q 'CCC_LTO:BOOL=ON' "$1/CMakeCache.txt" && skip "built with link-time optimization"

failed=0
say() { echo "FAIL: $*"; failed=1; }

readelf -n "$program" >"$out"
for probe in spawn run yield park wake end steal sleep awake; do
	grep -A1 'Provider: ccc$' "$out" | grep -q "Name: $probe\$" || say "no note of ccc:$probe"
done
semaphores=$(sed -n '/Provider: ccc$/,/Arguments/s/.*Semaphore: //p' "$out" | sort -u)
case $semaphores in
*[1-9a-f]*) [ "$(echo "$semaphores" | wc -l)" = 1 ] || say "several semaphores: $semaphores" ;;
*) say "no semaphore" ;;
esac

if command -v gdb >/dev/null; then
	gdb -nx -batch -ex 'set confirm off' -ex 'set pagination off' -ex 'set width 0' \
		-ex 'set debuginfod enabled off' -ex 'break -probe-stap ccc:park' -ex 'run' \
		-ex 'printf "task %d waits for: %s\n", (int)$_probe_arg0, (char *)$_probe_arg1' \
		-ex 'kill' "$program" >"$out" 2>&1 </dev/null
	if ! grep -qE 'ptrace: Operation not permitted|Could not trace the inferior' "$out"; then
		grep -qE 'task [0-9-]+ waits for: [a-z]+' "$out" || { cat "$out"; say "gdb does not stop at ccc:park"; }
	fi
fi
[ "$failed" = 0 ] && echo "1 passed, 0 failed" || echo "0 passed, 1 failed"
exit "$failed"
