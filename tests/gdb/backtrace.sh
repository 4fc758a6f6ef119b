#!/bin/sh
# backtrace.sh BUILD-DIR: gdb, stopped three calls deep inside a fiber, shows those
# three, the task and the fiber's entry, and ends there without complaint.
set -u
dir=$1
program=$dir/tests/backtrace_test
skip() { echo "skipped: $1"; exit 77; }

command -v gdb >/dev/null || skip "no gdb"
[ -x "$program" ] || skip "no $program"

out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT

# Once on the way in, and once more when the fiber has been away and is back.
gdb -nx -batch -ex 'set confirm off' -ex 'set pagination off' -ex 'set width 0' \
	-ex 'set debuginfod enabled off' -ex 'set backtrace past-main on' \
	-ex 'handle SIGALRM nostop noprint pass' \
	-ex 'break bt_stop' -ex 'run three_calls_deep' -ex 'printf "first\n"' -ex 'bt' \
	-ex 'continue' -ex 'printf "second\n"' -ex 'bt' -ex 'printf "end\n"' -ex 'kill' \
	"$program" >"$out" 2>&1 </dev/null

# Where a process may not be traced, there is nothing to see.
if grep -qE 'ptrace: Operation not permitted|Could not trace the inferior' "$out"; then
	skip "gdb may not trace here"
fi

failed=0
say() { echo "FAIL: $*"; failed=1; }

# The lines between two markers hold one backtrace.  gdb takes two underscores for
# a dot of Ada; a compiler that optimizes the whole program may add a suffix.
check() { # begin end
	bt=$(sed -n "/^$1\$/,/^$2\$/p" "$out" | grep '^#')
	names=$(echo "$bt" | sed -E 's/^#[0-9]+ +(0x[0-9a-f]+ in )?([A-Za-z0-9_.]+).*/\2/' |
		sed 's/cc\.context/cc__context/; s/\.lto_priv[.0-9]*//' | tr '\n' ' ')
	case $names in
	*"bt_level_3 bt_level_2 bt_level_1 bt_task fiber_main cc__context_base ") ;;
	*) say "$1 backtrace ends otherwise: $names" ;;
	esac
}
check first second
check second end
! grep -iE 'corrupt stack|Backtrace stopped|previous frame' "$out" || say "gdb complains"

[ $failed = 0 ] || cat "$out"
exit $failed
