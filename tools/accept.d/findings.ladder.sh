# findings.ladder: a run that fails only for a reason, names that select nothing, what a
# newcomer meets first, instruction counts.
# shellcheck shell=bash disable=SC2154

# The revision before the findings were worked on.
CC_BASE=${CC_BASE:-f31645d1ddaa}

# tool_test NAME FILE TEST: that test of tests/tools/FILE.
tool_test() {
	local verdict=FAIL
	python3 "tests/tools/$2.py" "$3" >>"$log" 2>&1 && verdict=ok
	show "$1" "$([ $verdict = ok ] && echo yes || echo no)" yes "$verdict"
}

ladder_flaky() {
	local test=LadderTest.test
	tool_test every_second_time_is_flaky ladder_test ${test}_flaky_test_is_told_and_the_run_goes_on
	tool_test always_fails_fails_the_run ladder_test ${test}_test_that_always_fails_fails_the_run
	tool_test three_flaky_fail_the_run ladder_test ${test}_three_flaky_tests_fail_the_run
	tool_test named_flaky_fails_the_run ladder_test ${test}_flaky_test_that_the_list_names_fails_the_run
	tool_test flaky_under_valgrind ladder_test ${test}_flaky_test_under_valgrind_is_told
	equal flaky_list_is_empty "$(grep -cv '^#\|^$' tests/flaky.txt)" 0
}

ladder_names() {
	local listed
	listed=$(tools/explore --only wait_ --list 2>>"$log" | grep -c ^wait_fiber/)
	least explore_only_wait_fiber "$listed" 17
	tool_test names_that_select_nothing selection_test NameTest
}

ladder_newcomer() {
	make all >>"$log" 2>&1
	equal tour_takes_turns "$(build/release/examples/tour 2>>"$log" |
		sed -n 's/^2. two fibers take turns: //p' | tr ' ' ,)" a1,b1,a2,b2,a3,b3
	tool_test shown_commands_are_right commands_test CommandsTest.test_every_command_is_right
	tool_test wrong_commands_are_found commands_test CommandsTest.test_wrong_commands_are_found
}

# Cases that take over 1 % more than at CC_BASE, and 4 instructions, which a switch may take for
# exception state and sanitizers.  All of them, and their figures, are in the log.
ladder_instructions() {
	local cases="yield_pair spawn_join_seq chan_local mutex_local" text=$out/instructions.txt
	[ "${LONG:-0}" != 1 ] || cases=
	# shellcheck disable=SC2086 # a list of words
	make bench-instructions BASE="$CC_BASE" ALLOW=4 CASE="$cases" >"$text" 2>&1
	cat "$text" >>"$log"
	sed -n 's/ <<<$//p' "$text"
	equal instructions_up_by_1_percent "$(sed -n 's/^\([0-9]*\) of .* cases up.*/\1/p' "$text")" 0
}

part ladder_flaky
part ladder_names
part ladder_newcomer
part ladder_instructions
