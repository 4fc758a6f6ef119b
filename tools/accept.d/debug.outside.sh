# debug.outside.sh: ccc-ps and gdb on a process with 100,000 fibers and a core with 10,000.
# shellcheck shell=bash disable=SC2154

# seconds COMMAND...: the least of three runs
seconds() {
	local TIMEFORMAT=%R
	for _ in 1 2 3; do
		{ time "$@" >>"$log" 2>&1; } 2>&1 || return
	done | sort -n | head -1
}

outside() {
	local pipe=$out/outside.pipe folder=$out/outside pid core
	cmake --build build/test --target ccc-ps ps_waits >>"$log" 2>&1 || {
		show "ccc-ps builds" no yes FAIL
		return
	}
	rm -rf "$pipe" "$folder" && mkfifo "$pipe" && mkdir -p "$folder"
	build/test/tests/ps_waits many 100000 <"$pipe" >$out/outside.said &
	pid=$!
	exec 9>"$pipe"
	while kill -0 $pid 2>/dev/null && ! grep -q ready $out/outside.said; do sleep 0.1; done
	below "ccc-ps, 100,000 fibers, s" "$(seconds build/test/bin/ccc-ps $pid)" 1
	below "ccc-ps --tree, s" "$(seconds build/test/bin/ccc-ps --tree $pid)" 1
	below "ccc-ps --stacks, s" "$(seconds build/test/bin/ccc-ps --stacks $pid)" 5
	echo quit >&9
	exec 9>&-
	wait $pid
	rm -f "$pipe"
	(cd "$folder" && ulimit -c unlimited &&
		(sleep 20; echo abort) | ../../test/tests/ps_waits many 10000) >>"$log" 2>&1
	core=$(ls "$folder"/core* 2>/dev/null | head -1)
	if [ -z "$core" ] || ! command -v gdb >/dev/null; then
		skip "gdb, core of 10,000 fibers" "no core here, or no gdb"
		return
	fi
	below "gdb, core of 10,000 fibers, s" "$(seconds gdb -nx -batch -x tools/gdb/ccc-gdb.py \
		-ex 'info fibers' -ex 'fiber 4711' -ex bt build/test/tests/ps_waits "$core")" 5
	rm -rf "$folder"
}
