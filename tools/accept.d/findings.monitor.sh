# findings.monitor: blocked workers, what TSan says with a monitor that looks often, and bugs
# that are planted into copies of the sources.
# shellcheck shell=bash disable=SC2154

# blocked_delay: b4.c spawns a task 0.3 s after so many fibers have blocked in sleep(2), and
# prints when it ran.  At most two intervals (10 ms each) and 5 ms later; the median of the
# runs, because b4.c counts as delay what a busy machine makes its own sleep longer.
blocked_delay() {
	local rounds=3 workers blockers round
	[ "${LONG:-0}" != 1 ] || rounds=20
	compiled "$out/b4" "$CC_FINDINGS/b4.c" cc || { show blocked_delay none built FAIL; return; }
	for workers in 1 2 4; do
		rm -f "$out"/b4.ran.*
		for ((round = 0; round < rounds; round++)); do
			for ((blockers = 1; blockers <= workers; blockers++)); do
				"$out/b4" $workers 0 $blockers >>"$out/b4.ran.$blockers" 2>>"$log" &
			done
			wait
		done
		for ((blockers = 1; blockers <= workers; blockers++)); do
			cat "$out/b4.ran.$blockers" >>"$log"
			most "blocked_ms_${blockers}_of_$workers" \
				"$(awk '{ print ($1 - 0.3) * 1000 }' "$out/b4.ran.$blockers" | median)" 25
		done
	done
}

# tsan_reports NAME PROGRAM...: with a monitor that looks every millisecond, 0 reports.
tsan_reports() {
	local name=$1 program text=$out/tsan.txt status=0
	shift
	: >"$text"
	for program in "$@"; do
		CC_SCALE_INTERVAL_MS=1 setarch "$(uname -m)" -R timeout 300 "$program" >>"$text" 2>&1 </dev/null
	done
	cat "$text" >>"$log"
	equal "$name" "$(grep -c 'WARNING: ThreadSanitizer' "$text")" 0
	return $status
}

# Tests with fibers that keep their workers; with LONG=1 the whole suite and the examples that
# end by themselves, 20 times.  Tests of the defaults say that the interval is another one:
# reports are counted, not verdicts.
monitor_tsan() {
	local build=build/ladder/tsan round
	if ! command -v clang >/dev/null; then
		skip tsan_monitor_1ms "no clang"
		return
	fi
	cmake -S . -B $build -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=RelWithDebInfo \
		-DCCC_DEBUG_CHECKS=ON -DCCC_SANITIZE=thread -DCCC_TEST_FLAGS=-O1 >>"$log" 2>&1
	cmake --build $build -j 2 --target sysmon_pool_test >>"$log" 2>&1
	tsan_reports tsan_monitor_1ms $build/tests/sysmon_pool_test
	long tsan_monitor_1ms_suite || return
	cmake --build $build -j 2 >>"$log" 2>&1
	for ((round = 1; round <= 20; round++)); do
		tsan_reports "tsan_monitor_1ms_suite_$round" $build/tests/*_test \
			$(find $build/examples -maxdepth 1 -type f -executable ! -name '*server*')
	done
}

# found NAME SCENARIO MESSAGE: the explorer finds what was planted, in under 30 s of search,
# and says MESSAGE.
found() {
	local name=$1 scenario=$2 message=$3 text=$out/planted.txt seconds
	timeout 300 tools/explore --src "$PWD/$out/planted" --only "$scenario" --no-replays >"$text" 2>&1
	cat "$text" >>"$log"
	seconds=$(sed -n "s/^$scenario .* \([0-9.]*\)s  FAIL: .*$message.*/\1/p" "$text" | head -1)
	below "$name" "$seconds" 30
}

# planted_and_found NAME SCENARIO MESSAGE FILE OLD NEW
planted_and_found() {
	if plant "$4" "$5" "$6"; then
		found "$1" "$2" "$3"
	else
		show "$1" "not planted" "< 30" FAIL
	fi
}

# E3: the timer of a recalled delayed task does not ask whose frame it is by now.
# E4: a fiber that yields is visible to thieves before it has been switched away from, on the
# short way and on the long one.
planted_races() {
	planted_and_found planted_later_s later_timer_of_a_seen_one_and_another_start \
		'began the next task in its frame' sched/later.c \
		'(cc__load(&f->handle, CC__RELAXED) & CC__HANDLE_ID) == id &&' \
		'cc__load(&f->handle, CC__ACQUIRE) + id != 0 &&'
	planted_and_found planted_turn_s worker_yields_under_a_thief 'not ordered after its save' \
		sched/switch.c \
		'leave(w, &f->run.context, next, AFTER_TURN);' \
		'cc__runq_leave(&w->queue), leave(w, &f->run.context, next, AFTER_TURN);'
	planted_and_found planted_yield_s worker_yields_under_a_thief 'not ordered after its save' \
		sched/switch.c \
		'leave(w, &f->run.context, next, after(AFTER_YIELD, f));' \
		'settle_yield(w, f), leave(w, &f->run.context, next, AFTER_NOTHING);'
}

# E2: the last error instead of the first.
planted_error() {
	local begin text=$out/planted.txt
	plant scope/nursery.c \
		'cc__cas(&n->error, &none, (uint32_t)error, CC__RELAXED, CC__RELAXED)' \
		'cc__xchg(&n->error, (uint32_t)error, CC__RELAXED) == none' ||
		{ show planted_error_s "not planted" "< 30" FAIL; return; }
	planted_test planted_error nursery_error_test || { show planted_error_s none "< 30" FAIL; return; }
	begin=$(date +%s%N)
	timeout 60 "$out/planted_error" >"$text" 2>&1
	below planted_error_s "$(ratio $(($(date +%s%N) - begin)) 1000000000)" 30
	cat "$text" >>"$log"
	equal planted_error_tests "$(failed_of "$text")" 5
}

part blocked_delay
part monitor_tsan
part planted_races
part planted_error
