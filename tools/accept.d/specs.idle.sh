# specs.idle: how soon an idle worker starts what another has left, and what waiting costs,
# interleaved with Go, tokio and libuv (bench/rivals).  A rival that cannot be built is skipped.
# `idle_table` compares the benchmarks with those of BASE=REVISION; `idle_explore`, `idle_mutants`
# and `idle_suites` are about the protocol.
# shellcheck shell=bash disable=SC2154
. tools/accept.d/suites.sh

idle_rounds=5
[ "${LONG:-0}" != 1 ] || idle_rounds=15

# Builds what is there below $out/idle; the names of the rivals that were built.
idle_rivals() {
	local dir=$PWD/$out/idle
	mkdir -p "$dir"
	tools/setup bench >>"$log" 2>&1
	make all >>"$log" 2>&1 || return
	cc -O2 -o "$dir/client" bench/rivals/client.c >>"$log" 2>&1 || return
	! command -v go >/dev/null ||
		! (cd bench/rivals && GO111MODULE=off go build -o "$dir/go" idle.go) >>"$log" 2>&1 || echo go
	! cc -O2 -o "$dir/libuv" bench/rivals/light_uv.c -luv >>"$log" 2>&1 || echo libuv
	# Debian's crates (librust-tokio-dev, librust-libc-dev).
	! (cd bench/rivals/tokio && cargo build -q --release --offline --target-dir "$dir/target" \
		--config 'source.crates-io.replace-with="debian"' \
		--config 'source.debian.directory="/usr/share/cargo/registry"' &&
		cp "$dir/target/release/idle" "$dir/tokio") >>"$log" 2>&1 || echo tokio
}

# idle_run RUNTIME CASE [ARGUMENT...]: one run with two workers, its line into $out/idle/RUNTIME.CASE.
idle_run() {
	local runtime=$1 name=$2 dir=$out/idle line
	shift 2
	case $runtime-$name in
	ccc-*) line=$(build/release/bench/ccc-bench "$name" workers=2 "$@" 2>>"$log") ;;
	*-light_load) line=$("$dir/client" 1000 "$dir/$runtime" "$name" workers=2 2>>"$log") ;;
	*) line=$("$dir/$runtime" "$name" workers=2 "$@" 2>>"$log") ;;
	esac
	echo "$runtime $name $*: $line" >>"$log"
	echo "$line" >>"$dir/$runtime.$name.${*//[^0-9a-z]/}"
}

# idle_figure RUNTIME CASE FIELD [ARGUMENT...]: the median of the rounds.
idle_figure() {
	local runtime=$1 name=$2 field=$3
	shift 3
	fields "$field" <"$out/idle/$runtime.$name.${*//[^0-9a-z]/}" | median
}

# idle_each RUNTIME CASE FIELD OTHER: the median of FIELD / OTHER of a round.
idle_each() {
	paste <(fields "$3" <"$out/idle/$1.$2.") <(fields "$4" <"$out/idle/$1.$2.") |
		awk '$2 > 0 { printf "%.3f\n", $1 / $2 }' | median
}

# The larger of two numbers.
larger() { awk "BEGIN { print ($1 > $2) ? $1 : $2 }"; }

idle_delay() {
	local name=$1 peer ours
	ours=$(idle_figure ccc "$name" delay_p50_us)
	for peer in go tokio; do
		[ -s "$out/idle/$peer.$name." ] || { skip "${name}_$peer" "not built"; continue; }
		show "${name}_p50_$peer" "$(idle_figure $peer "$name" delay_p50_us)" told ok
		show "${name}_p99_$peer" "$(idle_figure $peer "$name" delay_p99_us)" told ok
	done
	[ -s "$out/idle/go.$name." ] || return
	most "${name}_p50_us" "$ours" "$(idle_figure go "$name" delay_p50_us)"
	most "${name}_p99_us" "$(idle_figure ccc "$name" delay_p99_us)" \
		"$(larger 1000 "$(idle_figure go "$name" delay_p99_us)")"
}

idle() {
	local round runtime name rivals
	rivals=$(idle_rivals) || { show idle none built FAIL; return; }
	rm -f "$out"/idle/*.start_delay* "$out"/idle/*.light_load* "$out"/idle/*.timers_1k*
	for ((round = 0; round < idle_rounds; round++)); do
		for runtime in ccc $rivals; do
			if [ "$runtime" != libuv ]; then
				for name in start_delay_20 start_delay_4; do
					idle_run "$runtime" $name
				done
				idle_run "$runtime" start_delay_20 talk=50
			fi
			idle_run "$runtime" light_load
			case $runtime in ccc | go) idle_run "$runtime" timers_1k ;; esac
		done
	done
	idle_delay start_delay_20
	idle_delay start_delay_4
	most start_after_talk_p99_us "$(idle_figure ccc start_delay_20 delay_p99_us talk=50)" 3000
	for runtime in $rivals; do
		show "light_load_cpu_us_$runtime" "$(idle_figure "$runtime" light_load cpu_us_per_request)" told ok
	done
	[ ! -s "$out/idle/go.light_load." ] ||
		most light_load_cpu_us "$(idle_figure ccc light_load cpu_us_per_request)" \
			"$(idle_figure go light_load cpu_us_per_request)"
	most light_load_looks_a_sleep "$(idle_each ccc light_load looks_per_request \
		sleeps_per_request)" 3
	most light_load_polls_a_sleep "$(idle_each ccc light_load polls_per_request \
		sleeps_per_request)" 1
	idle_timers
	most idle_ticks_in_10s "$(bench idle_10s workers=2 | field ticks)" 1
}

# 1,000 sleeping fibers: Go rounds their sleeps to 1 ms, so it wakes less often, and later.
idle_timers() {
	local name
	[ -s "$out/idle/go.timers_1k." ] || { skip timers_1k "no Go"; return; }
	show timers_1k_cpu_us_go "$(idle_figure go timers_1k cpu_us)" told ok
	most timers_1k_cpu/go "$(ratio "$(idle_figure ccc timers_1k cpu_us)" \
		"$(idle_figure go timers_1k cpu_us)")" 1.5
	for name in over_p50_us over_p99_us; do
		most timers_1k_$name "$(idle_figure ccc timers_1k $name)" \
			"$(idle_figure go timers_1k $name)"
	done
}

# ---- against another version ----

idle_table_cases="pipe_1000ns_cap16 pipe_5000ns_cap1 pipe_20000ns_cap0 pipe_20000ns_cap64 work_1000ns work_10000ns mpmc_4x4_cap1 mpmc_4x4_cap64
	mpmc_64x64_cap1024 mpmc_8x8_unbuf spsc_cap1 spsc_cap16 spsc_cap1024 sieve_2000 skynet_1m
	fib_25_cut0 fib_32_cut10 ring_1000 pool_100 herd_1000 pingpong_unbuf select_2 select_8"

# idle_base REVISION: builds it, and prints its ccc-bench.
idle_base() {
	local name source
	name=$(git rev-parse --verify "$1^{commit}" 2>>"$log") || return
	source=$PWD/build/base/${name:0:12}
	mkdir -p "$source"
	[ -f "$source/CMakeLists.txt" ] || git archive "$name" | tar -x -C "$source" || return
	cmake -S "$source" -B "$source/build/release" -DCMAKE_BUILD_TYPE=Release \
		-DCCC_BUILD_TESTS=OFF >>"$log" 2>&1 || return
	cmake --build "$source/build/release" -j 2 --target ccc-bench >>"$log" 2>&1 || return
	echo "$source/build/release/bench/ccc-bench"
}

# idle_measure FILE PROGRAM CASE: `ns_per_op processors_busy cpu_ns_per_op`, a line more.  (The last
# says something on a busy host, too.)
idle_measure() {
	local TIMEFORMAT='%R %U %S'
	{ time "$2" "$3" workers=2 >"$1.line" 2>>"$log"; } 2>"$1.time"
	echo "$3 $2: $(cat "$1.line" "$1.time")" >>"$log"
	echo "$(field ns_per_op <"$1.line") $(awk '{ print ($1 > 0) ? ($2 + $3) / $1 : 0 }' "$1.time")" |
		awk '{ print $1, $2, $1 * $2 }' >>"$1"
}

# idle_compare NAME FILE_BEFORE FILE_AFTER COLUMN: the medians; worse than both the worst run before
# and 1.05 times the median before is a failure.
idle_compare() {
	local before after worst
	before=$(awk -v c="$4" '{ print $c }' "$2" | median)
	after=$(awk -v c="$4" '{ print $c }' "$3" | median)
	worst=$(awk -v c="$4" '{ print $c }' "$2" | sort -g | tail -1)
	show "$1" "$before -> $after" "<= $worst" "$(awk -v a="$after" -v b="$before" -v w="$worst" \
		'BEGIN { print (a != "" && b != "" && (a <= w || a <= 1.05 * b)) ? "ok" : "FAIL" }')"
}

idle_table() {
	local before round name dir=$out/idle/table
	[ -n "${BASE-}" ] || { skip idle_table "BASE=REVISION"; return; }
	make all >>"$log" 2>&1 || { show idle_table none built FAIL; return; }
	before=$(idle_base "$BASE") || { show idle_table "$BASE" built FAIL; return; }
	rm -rf "$dir"
	mkdir -p "$dir"
	for ((round = 0; round < 5; round++)); do
		for name in ${CASES:-$idle_table_cases}; do
			idle_measure "$dir/$name.before" "$before" "$name"
			idle_measure "$dir/$name.after" build/release/bench/ccc-bench "$name"
		done
	done
	for name in ${CASES:-$idle_table_cases}; do
		idle_compare "${name}_ns" "$dir/$name.before" "$dir/$name.after" 1
		idle_compare "${name}_cpus" "$dir/$name.before" "$dir/$name.after" 2
		idle_compare "${name}_cpu_ns" "$dir/$name.before" "$dir/$name.after" 3
	done
}

# ---- the protocol ----

idle_explore() {
	explore_parts idle symmetric worker stops
}

idle_mutants() {
	long idle_mutants || return
	mutation src/sched idle.c idle.h search.c steal.c
	mutation src/io poll.c
}

idle_suites() {
	make test >>"$log" 2>&1 || echo "make test fails" >>"$log"
	suites_of_workers
}

part idle
part idle_table
part idle_explore
part idle_mutants
part idle_suites
