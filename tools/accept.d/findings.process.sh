# findings.process: signals that reach workers, child processes, the price of cc_blocking.
# shellcheck shell=bash disable=SC2154

# How many runs a line makes.
process_runs() { [ "${LONG:-0}" = 1 ] && echo 200 || echo 20; }

# Samples of ITIMER_PROF that a fiber's computation is due.  (The rest falls on idle workers
# that search, and on the main thread.)
process_profiler() {
	local workers runs bad i line inside outside
	compiled "$out/prof" "$CC_FINDINGS/prof.c" cc -w || {
		show prof_compiles no yes FAIL
		return
	}
	runs=$(process_runs)
	for workers in 1 2 8 16; do
		bad=0
		for ((i = 0; i < runs; i++)); do
			line=$(CC_WORKERS=$workers timeout 60 "$out/prof" 2>&1)
			echo "$line" >>"$log"
			inside=$(echo "$line" | sed -n 's/.*in a fiber \([0-9]*\),.*/\1/p')
			outside=$(echo "$line" | sed -n 's/.*outside \([0-9]*\).*/\1/p')
			[ "${inside:-0}" -gt "${outside:-0}" ] || bad=$((bad + 1))
		done
		equal "prof_${workers}_workers_bad_of_$runs" $bad 0
	done
}

# sig1: a process that posix_spawn starts by hand with the mask of docs/processes.md dies by
# SIGTERM; one that cc_process_spawn starts (examples/processes.c) needs nothing for that.
process_children() {
	local workers runs i by_hand by_call
	if ! compiled "$out/sig1" "$CC_FINDINGS/sig1.c" cc -w ||
		! compiled "$out/processes" examples/processes.c cc; then
		show sig1_compiles no yes FAIL
		return
	fi
	runs=$(process_runs)
	for workers in 1 2 8 16; do
		by_hand=0 by_call=0
		rm -f "$out"/sig1.*.txt "$out"/processes.*.txt
		for ((i = 0; i < runs; i++)); do
			CC_WORKERS=$workers timeout 120 "$out/sig1" >"$out/sig1.$i.txt" 2>&1 &
			CC_WORKERS=$workers timeout 120 "$out/processes" >"$out/processes.$i.txt" 2>&1 &
			[ $((i % 20)) != 19 ] || wait
		done
		wait
		for ((i = 0; i < runs; i++)); do
			cat "$out/sig1.$i.txt" "$out/processes.$i.txt" >>"$log"
			! grep -q 'SETSIGMASK: killed' "$out/sig1.$i.txt" || by_hand=$((by_hand + 1))
			! cmp -s "$out/processes.$i.txt" examples/processes.txt || by_call=$((by_call + 1))
		done
		equal "sig1_${workers}_workers_by_hand" $by_hand "$runs"
		equal "processes_${workers}_workers" $by_call "$runs"
	done
}

# A blocking call against a round trip of two threads by futex in the same run.
process_blocking() {
	local workers i
	make all >>"$log" 2>&1
	for workers in 1 2; do
		for i in 1 2 3 4 5; do bench blocking_call workers=$workers | field ratio; done |
			median >"$out/blocking.txt"
		most "blocking_call_ratio_$workers" "$(cat "$out/blocking.txt")" 3
	done
	show blocking_file_ratio "$(bench blocking_file workers=2 | field ratio)" "told" ok
	passes blocking_calls build/test blocking_test
}

part process_profiler
part process_children
part process_blocking
