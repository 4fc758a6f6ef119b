# findings.stack: frames that are larger than a guard, stack sizes, guards, errno.
# shellcheck shell=bash disable=SC2154

stack_rounds=3
[ "${LONG:-0}" != 1 ] || stack_rounds=20

# frames NAME SOURCE WANTED [OPTION...]: in how many rounds the program names the fiber that ran.
stack_frames() {
	local name=$1 source=$2 fiber=$3 named=0 others=0 i
	shift 3
	compiled "$out/$name" "$CC_FINDINGS/$source" gcc -O2 "$@" || { show "$name" "no program" named FAIL; return; }
	for ((i = 0; i < stack_rounds; i++)); do
		timeout 20 "$out/$name" >"$out/$name.txt" 2>&1
		cat "$out/$name.txt" >>"$log"
		if grep -q "libccc: fiber [0-9]* '$fiber' overflowed its 256 KB stack.*stack_size.*CC_STACK_SIZE" "$out/$name.txt"; then
			named=$((named + 1))
		elif grep -q overflowed "$out/$name.txt"; then
			others=$((others + 1))
		fi
	done
	case $* in
	*-fno-*)	# no promise but one: no other fiber is blamed
		equal "${name}_blames_others" $others 0 ;;
	*) equal "$name" $named $stack_rounds ;;
	esac
}

# A5: with the flag the right fiber is named, always; without it never a wrong one.
stack_large_frames() {
	local flag
	flag=$(PKG_CONFIG_PATH=$(installed)/lib/pkgconfig pkg-config --variable=stack_cflags ccc)
	# shellcheck disable=SC2086 # a list of words
	for source in m06b_bigframe:bigframe m06c_bigframe_corrupt:big; do
		stack_frames "${source%%_*}_flag" "${source%:*}.c" "${source#*:}" $flag
		stack_frames "${source%%_*}_plain" "${source%:*}.c" "${source#*:}" -fno-stack-clash-protection
	done
}

# E1: the planted bug is found in under 30 s and told with stack and address.
stack_planted_guard() {
	local dir=$PWD/$out/planted_guard start=$SECONDS text=$out/planted_guard.txt
	rm -rf "$dir"
	mkdir -p "$dir" && git archive HEAD | tar x -C "$dir" || return
	sed -i 's/return p->hooks.acquire != NULL ||$/static cc__a32 planted; return p->hooks.acquire != NULL || cc__add(\&planted, 1, CC__RELAXED) % 64 == 63 ||/' \
		"$dir/src/sched/stack.c"
	if cmp -s "$dir/src/sched/stack.c" src/sched/stack.c; then
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
	# The users' patterns, with and without.
	compiled "$out/errno2" "$CC_FINDINGS/errno2.c" gcc -O2 -w -include ccc/errno.h
	timeout 60 "$out/errno2" >"$out/errno.txt" 2>&1
	cat "$out/errno.txt" >>"$log"
	equal errno2_wrong "$(sed -n 's/.*straight line \([0-9]*\), errno=0 idiom \([0-9]*\), read loop \([0-9]*\) .*/\1 \2 \3/p' "$out/errno.txt")" "0 0 0"
}

part stack_large_frames
part passes stack_sizes build/test task_stack_test nursery_stack_test frame_test frame_plain_test stack_pool_test
part stack_planted_guard
part stack_errno
