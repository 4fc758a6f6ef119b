# findings.context: what a fiber takes along besides its registers.
# shellcheck shell=bash disable=SC2034,SC2154

# A handler that waits keeps its exception: eh1.cpp (parks in a catch block), eh2.cpp (a nursery
# joins while an exception is thrown).  Figures: handlers, and how many went wrong.
exceptions() {
	local fibers=100 rounds=1000 compiler workers mode line wrong
	[ -z "${LONG-}" ] || fibers=1000
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

part exceptions
