# rivals.sh - our benchmarks next to other runtimes, in one run; read in by the areas
# that have a file of bars.
# shellcheck shell=bash disable=SC2154
CC_PEERBENCH=${CC_PEERBENCH:-../shared/bench}
rounds=5
rivals=$PWD/$out/$area.jsonl
our_bench=$PWD/build/release/bench/ccc-bench # an area may name another program

# run_rivals BARS [PEER]... -- [CASE]...: the cases of that file and these, by the peers
# that we are judged by and these; with LONG=1 by everybody.
run_rivals() {
	local rows cases peers
	rows=$(sed 's/#.*//' "$1")
	shift
	peers=$(echo "$rows" | awk 'NF { print $5 }' | sort -u | paste -sd ,),ccc
	while [ "$1" != -- ]; do
		peers=$peers,$1
		shift
	done
	shift
	cases=$(echo "$rows" | awk 'NF { print $1 }' | sort -u)
	[ "${LONG:-0}" != 1 ] || peers=
	: >"$rivals"
	# shellcheck disable=SC2086 # a list of words
	"$CC_PEERBENCH/run.sh" -r $rounds -o "$rivals" -p "$peers" \
		-x "ccc=$our_bench" $cases "$@" >>"$log" 2>&1
}

# False, and a line that says so: there are no rivals.
have_rivals() {
	tools/setup bench >>"$log"
	[ ! -x "$CC_PEERBENCH/run.sh" ] || return 0
	skip performance "no $CC_PEERBENCH/run.sh: set CC_PEERBENCH"
	return 1
}

# What a peer showed in every round; its median, or nothing if a round failed.
figures() { # PEER CASE WORKERS FIELD
	grep -F "\"peer\":\"$1\"" "$rivals" | grep -F "\"case\":\"$2\"" |
		grep -E "\"workers\":$3[,}]" | fields "$4"
}
figure() {
	[ "$(figures "$@" | wc -l)" != $rounds ] || figures "$@" | median
}

# What everybody showed, and the processor time of the process, calibration included:
# two workers that keep one processor busy say nothing about two.
log_row() { # CASE WORKERS FIELD
	local peer peers
	peers=$(grep -F "\"case\":\"$1\"" "$rivals" | grep -E "\"workers\":$2[,}]" |
		sed -n 's/.*"peer":"\([^"]*\)".*/\1/p' | sort -u)
	for peer in $peers; do
		echo "$1/$2 $3 $peer: $(figures "$peer" "$@" | xargs); processors" "$(ratio \
			"$(figures "$peer" "$1" "$2" cpu_s | median)" \
			"$(figures "$peer" "$1" "$2" proc_s | median)")"
	done >>"$log"
}

# A line for each row of that file.
bars() { # BARS
	local name workers field bar peer reference ours theirs
	while read -r name workers field bar peer reference; do
		log_row "$name" "$workers" "$field"
		ours=$(figure ccc "$name" "$workers" "$field")
		theirs=$(figure "$peer" "$name" "$workers" "$field")
		name=$name/$workers
		case $field in
		ns_per_op) ;;
		speedup)
			name=${name}_$field
			most "$name" "$(ratio "$theirs" "$ours" 4)" "$(ratio "$reference" "$bar" 4)"
			continue
			;;
		*) name=${name}_${field} ;;
		esac
		most "$name" "$(ratio "$ours" "$theirs" 4)" "$(ratio "$bar" "$reference" 4)"
	done < <(sed 's/#.*//' "$1" | awk NF)
}
