# findings.process: signals that reach workers, child processes, the price of cc_blocking.
# shellcheck shell=bash disable=SC2154

# How many runs a line makes.
process_runs() { [ "${LONG:-0}" = 1 ] && echo 200 || echo 5; }

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

part process_profiler
