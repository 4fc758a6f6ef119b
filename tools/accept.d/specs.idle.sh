# specs.idle: how soon an idle worker starts what another has left, and what waiting costs,
# interleaved with Go, tokio and libuv (bench/rivals).  A rival that cannot be built is skipped.
# shellcheck shell=bash disable=SC2154

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
	rm -f "$out"/idle/*.start_delay* "$out"/idle/*.light_load*
	for ((round = 0; round < idle_rounds; round++)); do
		for runtime in ccc $rivals; do
			if [ "$runtime" != libuv ]; then
				for name in start_delay_20 start_delay_4; do
					idle_run "$runtime" $name
				done
				idle_run "$runtime" start_delay_20 talk=50
			fi
			idle_run "$runtime" light_load
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
	most light_load_looks "$(idle_figure ccc light_load looks_per_request)" 3
	most light_load_polls "$(idle_figure ccc light_load polls_per_request)" 1
}

part idle
