# findings.programs: the small programs that show a finding, each many times, with 1, 2, 8 and 16
# workers, plain and under the sanitizers.  The ones with a measure of their own (delays,
# profiles, exceptions by the million) stand in the files of their subjects.
# shellcheck shell=bash disable=SC2154

program_runs() { [ "${LONG:-0}" = 1 ] && echo 200 || echo 20; }

# one_run TEXT STATUS WORKERS COMMAND...: what it printed, and its exit status.
one_run() {
	local text=$1 status=$2 workers=$3
	shift 3
	CC_WORKERS=$workers timeout 120 "$@" >"$text" 2>&1 </dev/null
	echo $? >"$status"
}

# runs NAME RUNS WANTED PATTERN COMMAND...: with each number of workers, in how many runs the
# program exits with WANTED (a status, or - for any) and prints a line that matches PATTERN.
# Four runs at a time.
runs() {
	local name=$1 runs=$2 wanted=$3 pattern=$4 workers i good dir=$out/runs
	shift 4
	[ -x "$1" ] || command -v "$1" >/dev/null || { show "$name" none built FAIL; return; }
	for workers in 1 2 8 16; do
		rm -rf "$dir" && mkdir -p "$dir"
		for ((i = 0; i < runs; i++)); do
			one_run "$dir/$i.txt" "$dir/$i.status" $workers "$@" 2>>"$log" &
			[ $((i % 4)) != 3 ] || wait
		done
		wait
		good=0
		for ((i = 0; i < runs; i++)); do
			if grep -qE "$pattern" "$dir/$i.txt" &&
				{ [ "$wanted" = - ] || [ "$(cat "$dir/$i.status")" = "$wanted" ]; }; then
				good=$((good + 1))
			else
				{ echo "$name, $workers workers, status $(cat "$dir/$i.status"):"
					cat "$dir/$i.txt"; } >>"$log"
			fi
		done
		equal "${name}_$workers" $good $runs
	done
}

# built NAME SOURCE COMPILER [OPTION...]: as `compiled`; leaves nothing behind if that fails.
built() {
	rm -f "$out/$1"
	compiled "$out/$1" "$CC_FINDINGS/$2" "${@:3}" || rm -f "$out/$1"
}

# A3, A5, A8, A9, A10, A13, and a failed send of an ordered channel.
programs_plain() {
	local n flag
	n=$(program_runs)
	flag=$(PKG_CONFIG_PATH=$(installed)/lib/pkgconfig pkg-config --variable=stack_cflags ccc)
	built match_eval match_eval.c gcc -O2
	runs match_eval "$n" 0 '^cc_on_recv: 1 evaluations' "$out/match_eval"
	built nojoin m02b_nursery_nojoin.c gcc -O2 -w
	runs nursery_nojoin "$n" 134 'the program ends with the nursery at 0x' "$out/nojoin"
	built freed m03b_useafterfree.c gcc -O2 -w
	runs use_after_free "$n" 134 'libccc: channel 0x.* was freed, and a receive uses it' "$out/freed"
	# shellcheck disable=SC2086 # a list of words
	built bigframe m06b_bigframe.c gcc -O2 -w $flag
	runs bigframe "$n" 139 "fiber [0-9]* 'bigframe' overflowed its 256 KB stack.*CC_STACK_SIZE" \
		"$out/bigframe"
	# shellcheck disable=SC2086 # a list of words
	built corrupt m06c_bigframe_corrupt.c gcc -O2 -w $flag
	runs bigframe_corrupt "$n" 139 "fiber [0-9]* 'big' overflowed its 256 KB stack.*CC_STACK_SIZE" \
		"$out/corrupt"
	built escape b1_chan_spawn_cancel.c gcc -O2 -w
	runs chan_spawn_cancel "$n" 0 '^scope ended: .* tasks still running: 0$' "$out/escape"
	built ordc seed_ordc.c gcc -O2 -w
	runs failed_send_joined "$n" 0 'task began 1 ended 1 ' "$out/ordc"
	built errno2 errno2.c gcc -O2 -w -include ccc/errno.h
	runs errno2 "$n" - 'straight line 0, errno=0 idiom 0, read loop 0 of 6000' "$out/errno2"
}

# A7: correct programs without a report, mistakes with the right one, by each compiler.
programs_sanitized() {
	local n compiler tsan asan mistake=0 kind
	n=$(program_runs)
	tsan="setarch $(uname -m) -R"
	export ASAN_OPTIONS=detect_stack_use_after_return=1:detect_leaks=1 TSAN_OPTIONS=atexit_sleep_ms=0
	for compiler in gcc clang; do
		asan=-fsanitize=address
		[ $compiler = gcc ] || asan="$asan -fsanitize-address-use-after-return=always"
		# shellcheck disable=SC2086 # a list of words
		built "asan1-$compiler" asan1.c $compiler -O1 -g -w $asan
		runs "asan1_$compiler" "$n" 0 '^sum 28500 right$' "$out/asan1-$compiler"
		# shellcheck disable=SC2086 # a list of words
		built "asanbug-$compiler" asanbug.c $compiler -O1 -g -w $asan
		mistake=0
		# (clang 14 does not report the first of these outside of fibers either;
		# tests/install/mistakes.c has one that it does.)
		for kind in stack-use-after-return stack-buffer-overflow heap-use-after-free LeakSanitizer; do
			[ $compiler$mistake = clang0 ] ||
				runs "${kind}_$compiler" "$n" - "$kind" "$out/asanbug-$compiler" $mistake
			mistake=$((mistake + 1))
		done
	done
	built race race.c clang -O1 -g -w -fsanitize=thread
	runs race_reported "$n" 66 'WARNING: ThreadSanitizer: data race' $tsan "$out/race" 0
	runs race_mutex "$n" 0 '^racy 0 of 100, guarded 400 of 400$' $tsan "$out/race" 1
	runs race_channel "$n" 0 '^racy 0 of 100' $tsan "$out/race" 2
	built asan1-tsan asan1.c clang -O1 -g -w -fsanitize=thread
	runs asan1_tsan "$n" 0 '^sum 28500 right$' $tsan "$out/asan1-tsan"
	built asan1-plain asan1.c gcc -O1 -g -w
	runs asan1_valgrind $((n / 10)) 0 '^sum 28500 right$' \
		valgrind -q --error-exitcode=9 "$out/asan1-plain"
}

part programs_plain
part programs_sanitized
