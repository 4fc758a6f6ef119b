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

# Tasks of an ordered channel end with the caller's nursery (findings.programs has the programs).
part passes children_by_handle build/test handle_test
