# findings.child.sh - results that may not be dropped, and children with a handle.

# drop COMPILER STATEMENT: the compiler's answer with -Werror.
drop() {
	printf '#include <ccc/ccc.h>\nvoid f(CCChan *c, CCTask t, CCNursery *n, int v);\n%s {\n%s\n}\n' \
		'void f(CCChan *c, CCTask t, CCNursery *n, int v)' \
		"(void)c, (void)t, (void)n, (void)v; $2;" >$out/drop.c
	if "$1" -Wall -Wextra -Werror -Iinclude -c -o /dev/null $out/drop.c >>"$log" 2>&1; then
		echo compiles
	else
		echo refused
	fi
}

dropped_results() {
	local cc
	for cc in gcc clang; do
		equal "dropped_send_$cc" "$(drop $cc 'cc_chan_send(c, &v, sizeof v)')" refused
		equal "dropped_recv_$cc" "$(drop $cc 'cc_chan_recv(c, &v, sizeof v)')" refused
		equal "dropped_join_$cc" "$(drop $cc 'cc_task_join(t, CC_FOREVER, NULL)')" refused
		equal "dropped_task_$cc" "$(drop $cc 'cc_task_spawn(NULL, &t, NULL, NULL, NULL)')" refused
		equal "ignored_join_$cc" \
			"$(drop $cc 'cc_ignore(cc_task_join(t, CC_FOREVER, NULL))')" compiles
		equal "dropped_child_$cc" "$(drop $cc 'cc_nursery_spawn(n, NULL, NULL, NULL)')" compiles
	done
	passes must_check build/test must_check_test misuse_test
	passes failed_spawn build/test nursery_unstarted_test
}

part dropped_results

# Tasks of an ordered channel end with the caller's nursery.
ordered_children() {
	local workers run runs=20 ended said
	[ "${LONG:-0}" = 1 ] && runs=200
	compiled $out/escape "$CC_FINDINGS/b1_chan_spawn_cancel.c" gcc -std=gnu11 -O2 || true
	compiled $out/ordc "$CC_FINDINGS/seed_ordc.c" gcc -std=gnu11 -O2 || true
	for workers in 1 2 8 16; do
		ended=0 said=0
		for run in $(seq "$((workers > 2 ? runs / 4 : runs / 2))"); do
			CC_WORKERS=$workers timeout 60 $out/escape >$out/escape.txt 2>>"$log"
			grep -q 'tasks still running: 0' $out/escape.txt &&
				grep -q 'free 0 running 0' $out/escape.txt && ended=$((ended + 1))
			CC_WORKERS=$workers timeout 60 $out/ordc >$out/ordc.txt 2>>"$log"
			grep -q 'began 1 ended 1' $out/ordc.txt && said=$((said + 1))
		done
		equal "chan_spawn_cancel_$workers" "$ended of $run" "$run of $run"
		equal "failed_send_joined_$workers" "$said of $run" "$run of $run"
	done
	passes children_by_handle build/test handle_test
}

part ordered_children
