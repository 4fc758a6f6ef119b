# findings.stack: frames that are larger than a guard, stack sizes, guards, errno.
# shellcheck shell=bash disable=SC2154

stack_rounds=3
[ "${LONG:-0}" != 1 ] || stack_rounds=20

# A5: without -fstack-clash-protection there is one promise: no other fiber is blamed.  (With the
# flag the right one is named: findings.programs.)
stack_large_frames() {
	local pair name fiber i others
	for pair in m06b_bigframe:bigframe m06c_bigframe_corrupt:big; do
		name=${pair%%:*} fiber=${pair#*:} others=0
		compiled "$out/$name" "$CC_FINDINGS/$name.c" gcc -O2 -w -fno-stack-clash-protection ||
			{ show "$name" none built FAIL; continue; }
		for ((i = 0; i < stack_rounds; i++)); do
			timeout 20 "$out/$name" >"$out/$name.txt" 2>&1
			cat "$out/$name.txt" >>"$log"
			! grep overflowed "$out/$name.txt" | grep -qv "'$fiber' overflowed" ||
				others=$((others + 1))
		done
		equal "${name}_blames_others" $others 0
	done
}

# E1: the planted bug is found in under 30 s and told with stack and address.
stack_planted_guard() {
	local dir=$PWD/$out/planted_guard start=$SECONDS text=$out/planted_guard.txt
	rm -rf "$dir"
	mkdir -p "$dir" && git archive HEAD | tar x -C "$dir" || return
	sed -i 's/return p->hooks.acquire != NULL ||$/static cc__a32 planted; return p->hooks.acquire != NULL || cc__add(\&planted, 1, CC__RELAXED) % 64 == 63 ||/' \
		"$dir/src/sched/stack.c"
	if cmp -s "$dir/src/sched/stack.c" src/stack/stack.c; then
		show planted_guard "not planted" found FAIL
		return
	fi
	cmake -S "$dir" -B "$dir/build" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCCC_DEBUG_CHECKS=ON \
		-DCCC_BUILD_BENCH=OFF -DCCC_BUILD_EXAMPLES=OFF >>"$log" 2>&1 &&
		cmake --build "$dir/build" -j 2 --target stack_pool_test >>"$log" 2>&1
	start=$SECONDS
	timeout 60 "$dir/build/tests/stack_pool_test" every_ >"$text" 2>&1
	cat "$text" >>"$log"
	least planted_guard_named "$(grep -c 'stack [0-9]* at 0x[0-9a-f]* has no guard' "$text")" 10
	below planted_guard_seconds $((SECONDS - start)) 30
}

# A13: the header at every level, and the plain errno for comparison.
stack_errno() {
	local library
	library=$(installed)/lib/libccc.a
	sh tests/errno/run . "$library" gcc clang >"$out/errno.txt" 2>&1
	cat "$out/errno.txt" >>"$log"
	equal errno_levels "$(grep -c '^ok ' "$out/errno.txt")" 10
	PLAIN=1 sh tests/errno/run . "$library" gcc clang >"$out/errno.txt" 2>&1
	cat "$out/errno.txt" >>"$log"
	least errno_plain_wrong "$(grep -c 'straight line [1-9]' "$out/errno.txt")" 6
}

part stack_large_frames
part passes stack_sizes build/test task_stack_test nursery_stack_test frame_test frame_plain_test stack_pool_test
part stack_planted_guard
part stack_errno
