# suites.sh - scenarios to their end, and the unit tests with few or many workers and without
# helpers; read in by the areas that show both.
# shellcheck shell=bash disable=SC2154

# ---- the explorer ----

# explore_parts PART...: the scenarios of each part to their end; seeded bugs among them are found.
explore_parts() {
	local part text=$out/explore.txt status listed good
	for part in "$@"; do
		listed=$(tools/explore --list --only "${part}_*" 2>>"$log" | grep -c "/${part}_")
		tools/explore --only "${part}_*" >"$text" 2>&1
		status=$?
		cat "$text" >>"$log"
		good=$(grep -cE "^${part}_.* (exhausted$|found: )" "$text")
		show "explore_${part}_*" "$good of $listed" "all, > 0" "$(
			[ $status = 0 ] && [ "$listed" -gt 0 ] && [ "$good" = "$listed" ] &&
				echo ok || echo FAIL)"
	done
}

# ---- the unit tests where time, processors or helpers are scarce ----

unit_tests() { # LABEL
	(cd build/test && ctest -N -L "^$1\$") | sed -n 's/.*Test  *#[0-9]*: //p'
}

# suite NAME COMMAND...: every unit test program passes when it is run by COMMAND
suite() {
	local name=$1 test text=$out/suite.txt all=0 good=0 status
	shift
	for test in $(unit_tests unit); do
		all=$((all + 1))
		"$@" "build/test/tests/$test" >"$text" 2>&1
		status=$?
		case $status in
		0 | 77) good=$((good + 1)) ;; # 77: all skipped
		*)
			echo "$name: $test ends with $status under: $*"
			cat "$text"
			;;
		esac >>"$log"
	done
	show "$name" "$good of $all" "all" \
		"$([ "$good" = "$all" ] && [ "$all" -gt 0 ] && echo ok || echo FAIL)"
}

# A number counts only if the library understands it: nonsense must be refused.  (Of a
# switch, as CC_SYSMON, nothing is nonsense.)
understood() { # NAME VARIABLE
	[ -n "$(bench yield_pair n=2)" ] &&
		[ -z "$(export "$2=nonsense" && bench yield_pair n=2)" ] && return
	show "$1" "$2 ignored" "understood" FAIL
	return 1
}

suites_of_workers() {
	local n name
	# Nothing may depend on a clock that notices what a wake forgot.
	name=suite_no_help
	understood $name CC_IDLE_WAIT_TIMEOUT_MS &&
		suite $name env CC_SYSMON=0 CC_IDLE_WAIT_TIMEOUT_MS=0
	suite suite_one_cpu env TEST_TIMEOUT=2 taskset -c 0
	for n in 1 2 4 16; do
		name=suite_workers_$n
		understood $name CC_WORKERS && suite $name env TEST_TIMEOUT=2 CC_WORKERS=$n
	done
}
