# findings.join: joins that end with their nursery, the table of calls that wait, and main that
# forgets a nursery.
# shellcheck shell=bash disable=SC2034,SC2154

# A joiner in a fail-fast nursery: each run prints the failed sibling's error, EIO.  A run that
# hangs is killed.
join_failfast() {
	local runs=25 workers i good
	[ "${LONG:-0}" != 1 ] || runs=250
	compiled "$out/join_failfast" "$CC_FINDINGS/join_failfast.c" gcc -O2 ||
		{ show join_failfast none compiles FAIL; return; }
	for workers in 1 2 8 16; do
		good=0
		for ((i = 0; i < runs; i++)); do
			[ "$(CC_WORKERS=$workers timeout 20 "$out/join_failfast" 2>>"$log")" != 5 ] ||
				good=$((good + 1))
		done
		equal "join_failfast_${workers}_workers" $good $runs
	done
}

# A nursery's deadline of 20 ms: how many milliseconds later the join returns.  The worst of a
# busy machine is shown, the median counts.
join_deadline() {
	local runs=20 workers i line late
	[ "${LONG:-0}" != 1 ] || runs=200
	compiled "$out/join_deadline" "$CC_FINDINGS/join_deadline.c" gcc -O2 ||
		{ show join_deadline none compiles FAIL; return; }
	for workers in 1 2 8 16; do
		late=$out/join_deadline.$workers
		for ((i = 0; i < runs; i++)); do
			line=$(CC_WORKERS=$workers timeout 20 "$out/join_deadline" 2>>"$log")
			echo "$line" >>"$log"
			# ETIMEDOUT; anything else counts as a second
			echo "$line" | awk '$2 == 110 { print $4 - 20; n = 1 } END { if (!n) print 1000 }'
		done >"$late"
		most "join_late_ms_${workers}_workers" "$(median <"$late")" 5
		show "join_late_ms_${workers}_worst" "$(sort -n "$late" | tail -1)" "aim 5" ok
	done
}

# Every call that waits is in the table, and every test that the table names passes.
blocking_table() {
	equal blocking_calls_findings "$(tools/blocking | tee -a "$log" |
		sed -n 's/.* \([0-9]*\) findings$/\1/p')" 0
	passes blocking_calls build/test blocking_calls_test join_scope_test tools_blocking_test
}

# main that returns with a nursery open stops the program, and the message names the nursery.
main_with_open_nursery() {
	local status
	compiled "$out/nojoin" "$CC_FINDINGS/m02b_nursery_nojoin.c" gcc -O2 ||
		{ show nursery_nojoin none compiles FAIL; return; }
	timeout 20 "$out/nojoin" >>"$log" 2>"$out/nojoin.txt"
	status=$?
	cat "$out/nojoin.txt" >>"$log"
	equal nursery_nojoin_status $status 134
	equal nursery_nojoin_message "$(grep -c 'the program ends with the nursery at 0x' \
		"$out/nojoin.txt")" 1
}

# explored NAME...: these scenarios are searched to their end, or their seeded bug is found.
explored() {
	local name text=$out/explored.txt
	for name; do
		tools/explore --no-replays --only "*/$name" >"$text" 2>&1
		cat "$text" >>"$log"
		show "$name" "$(sed -n 's/.*  \(exhausted\|found\).*/\1/p' "$text" | head -1)" \
			"exhausted|found" "$(tail -1 "$text" | grep -q '^1 passed, 0 failed' && echo ok || echo FAIL)"
	done
}

part join_failfast
part join_deadline
part blocking_table
part main_with_open_nursery
part explored worker_cancel_ends_a_join worker_cancel_ends_a_join_in_an_inner_scope \
	worker_place_that_ignores_scopes_traps blocking_call_is_withdrawn_or_run
