#!/bin/sh
# captures.sh BUILD-DIR: gdb, stopped in a task, calls it by the name that its author gave it,
# and shows its captures.
set -u
program=$1/tests/typed_test
skip() { echo "skipped: $1"; exit 77; }

command -v gdb >/dev/null || skip "no gdb"
[ -x "$program" ] || skip "no $program"

out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
gdb -nx -batch -ex 'set confirm off' -ex 'set pagination off' -ex 'set width 0' \
	-ex 'set debuginfod enabled off' -ex 'handle SIGALRM nostop noprint pass' \
	-ex 'break add_up' -ex 'run tasks_get_their_captures_by_name' -ex 'bt 1' \
	-ex 'print self->a' -ex 'print *self' -ex 'kill' "$program" >"$out" 2>&1 </dev/null
if grep -qE 'ptrace: Operation not permitted|Could not trace the inferior' "$out"; then
	skip "gdb may not trace here"
fi

failed=0
wants() { grep -qE "$1" "$out" || { echo "FAIL: not a word of: $1"; failed=1; }; }
wants '^#0 .*add_up \('
if ! grep -q 'No symbol "self"' "$out"; then	# there is debug information
	wants '^#0 .*add_up \(self=0x[0-9a-f]+\)'
	wants '^\$1 = 7$'
	wants '^\$2 = \{a = 7, b = 0, c = 5, sum = 0x[0-9a-f]+\}$'
fi
[ $failed = 0 ] || cat "$out"
exit $failed
