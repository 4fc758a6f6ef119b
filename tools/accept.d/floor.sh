# floor.sh - what nobody can be faster than, measured beside us; read in by the areas that
# have such bounds.
# shellcheck shell=bash disable=SC2154
CC_PEERBENCH=${CC_PEERBENCH:-../shared/bench}
floor=$out/floor

# False, and a line that says so: there are no floors.
have_floor() { # NAME
	tools/setup floor >>"$log"
	if [ ! -f "$CC_PEERBENCH/floor/main.cpp" ]; then
		skip "$1" "no $CC_PEERBENCH/floor: set CC_PEERBENCH"
		return 1
	fi
	g++ -std=c++17 -O2 -o "$floor" "$CC_PEERBENCH/floor/main.cpp" -lboost_context -lpthread \
		>>"$log" 2>&1 && return 0
	skip "$1" "the floor's program does not build"
	return 1
}

# Ours and the floor in turns; OURS's median over that of the floor's by over_floor.
run_floor() { # FLOOR OURS...
	local file=$out/floor_runs round c of=$1
	shift
	rm -f "$file".*
	for round in 1 2 3 4 5; do
		"$floor" "$of" workers=1 | field ns_per_op >>"$file.floor"
		for c in "$@"; do
			bench "$c" workers=1 | field ns_per_op >>"$file.$c"
		done
	done
	echo "$of $(median <"$file.floor") ns, of $round rounds" >>"$log"
}
over_floor() { ratio "$(median <"$out/floor_runs.$1")" "$(median <"$out/floor_runs.floor")"; }
