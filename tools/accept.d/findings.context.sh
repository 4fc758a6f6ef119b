# findings.context: what a fiber takes along besides its registers.
# shellcheck shell=bash disable=SC2034,SC2154

# A handler that waits keeps its exception: eh1.cpp (parks in a catch block), eh2.cpp (a nursery
# joins while an exception is thrown).  Figures: handlers, and how many went wrong.
exceptions() {
	local fibers=100 rounds=1000 compiler workers mode line wrong
	[ "${LONG:-0}" != 1 ] || fibers=1000
	for compiler in g++ clang++; do
		for program in eh1 eh2; do
			compiled "$out/$program-$compiler" "$CC_FINDINGS/$program.cpp" "$compiler" \
				-std=c++17 -O2 || { show "$program $compiler" none compiles FAIL; return; }
		done
		for workers in 1 2 8; do
			wrong=0
			for mode in 1 3; do
				line=$(CC_WORKERS=$workers timeout 300 "$out/eh1-$compiler" $mode $fibers $rounds) ||
					wrong=crashed
				echo "$line" >>"$log"
				echo "$line" | grep -q "wrong object in catch 0 wrong rethrow 0 current_exception empty 0 uncaught!=0 0" ||
					wrong=some
			done
			equal "eh1 $compiler $workers of $((fibers * rounds))" "$wrong" 0
			wrong=0
			for _ in 1 2 3 4 5 6 7 8 9 10; do
				line=$(CC_WORKERS=$workers timeout 60 "$out/eh2-$compiler") || wrong=crashed
				echo "$line" >>"$log"
				echo "$line" | grep -q "^caught 10000 of 10000; .* in flight: 0; negative counts 0" ||
					wrong=some
			done
			equal "eh2 $compiler $workers" "$wrong" 0
		done
	done
}

# The same with AddressSanitizer, which follows each throw up the stack.
exceptions_asan() {
	local compiler line
	for compiler in g++ clang++; do
		compiled "$out/eh1-asan" "$CC_FINDINGS/eh1.cpp" "$compiler" -std=c++17 -O1 -fsanitize=address
		line=$(CC_WORKERS=2 timeout 300 "$out/eh1-asan" 3 100 100 2>&1)
		echo "$line" >>"$log"
		echo "$line" | grep -q "^mode 3: .* uncaught!=0 0\$" && line=0 || line=some
		equal "eh1 asan $compiler" "$line" 0
	done
}

# The installed library with each tool: all examples without a report, mistakes and races
# reported each time (tests/install/tools).  Figure: what went wrong.
sanitizers() {
	local tool rounds=1
	[ "${LONG:-0}" != 1 ] || rounds=100
	make all >>"$log" 2>&1
	for tool in asan-gcc asan-clang tsan-clang valgrind; do
		tests/install/tools build/release $tool $rounds >"$out/$tool.txt" 2>&1
		cat "$out/$tool.txt" >>"$log"
		equal "$tool, $rounds rounds" "$(failed_of "$out/$tool.txt")" 0
	done
}

part exceptions
part exceptions_asan
part sanitizers
