# findings.join: joins that end with their nursery, and the table of calls that wait.
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

# path_removed NAME TESTS FILE OLD NEW: without what ends a wait in that way, every test whose
# name matches fails: it hangs, or has another result.
path_removed() {
	local name=$1 program=$out/planted_path tests failing
	plant "$3" "$4" "$5" && planted_test planted_path blocking_calls_test ||
		{ show "removed_$name" none planted FAIL; return; }
	tests=$("$program" --list | grep -P "$2")
	failing=$(echo "$tests" | xargs -P 8 -I{} sh -c \
		'timeout -s KILL 3 "$1" {} >/dev/null 2>&1 || echo {}' sh "$program")
	{ echo "without $name pass all the same:"; grep -vxF "$failing" <<<"$tests"; } >>"$log"
	equal "removed_$name" "$(wc -l <<<"$failing") fail" "$(wc -l <<<"$tests") fail"
}

# (The deadline of cc_block_* and of a nursery's own join is that of a nursery.)
paths_removed() {
	local nurserys='(block_|nursery_join_)\w*ends_at_its_deadline$'
	path_removed deadline "^(?!$nurserys).*_ends_at_its_deadline\$" wait/wait.c \
		'return deadline != CC_FOREVER && cc__now() >= deadline ? ETIMEDOUT : 0;' 'return 0;'
	path_removed nurserys_deadline "_ends_at_a_nurserys_deadline\$|^$nurserys" scope/closing.c \
		'if (deadline == 0 || deadline == CC_FOREVER)' 'if (deadline != 1)'
	path_removed cancel '_ends_when_cancelled$' scope/nursery.c \
		'		note_error(n, reason);
	cancel(n, reason);
	return 0;' '		note_error(n, reason);
	return 0;'
	path_removed runtime_end '_ends_with_its_runtime$' sched/start.c \
		'cc__scope_cancel(&s->root.scope, CC__CANCEL, false);' ''
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
part paths_removed
part explored worker_cancel_ends_a_join worker_cancel_ends_a_join_in_an_inner_scope \
	worker_place_that_ignores_scopes_traps blocking_call_is_withdrawn_or_run
