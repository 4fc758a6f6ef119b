# findings.select: selects that do not wait, macros that evaluate their arguments once, freed objects.
# shellcheck shell=bash disable=SC2154

# Misses of a select that does not wait, by capacity; the element moves all the time.
selects_that_miss() {
	local rounds=200000 source=$out/nb_select.c program=$out/nb_select capacity text
	[ "${LONG:-0}" = 1 ] && rounds=2000000
	sed "s/n = 20000/n = $rounds/" "$CC_FINDINGS/nb_select.c" >"$source"
	compiled "$program" "$source" cc -O2 || { show nb_select "does not compile" 0 FAIL; return; }
	for capacity in 1 7 8 64; do
		text=$(timeout 1800 "$program" $capacity 2>&1)
		echo "$text" >>"$log"
		equal "nb_select_${capacity}_lines" "$(grep -c "of $rounds\$" <<<"$text")" 5
		equal "nb_select_${capacity}_missed" \
			"$(grep -o 'missed [0-9]*' <<<"$text" | awk '{ n += $2 } END { print n }')" 0
	done
	# Without rings, in one line each.
	text=$(CC_CHAN_NO_LOCKFREE=1 timeout 1800 "$program" 8 2>&1)
	echo "$text" >>"$log"
	equal nb_select_locked_missed \
		"$(grep -o 'missed [0-9]*' <<<"$text" | awk '{ n += $2 } END { print n }')" 0
	passes select_now build/test select_now_test
}

# The seeded bug is found, and the real select passes the same scenarios.
selects_explored() {
	local text
	text=$(tools/explore --only chan_select_ 2>&1; tools/explore --only seeded_select_tries 2>&1)
	echo "$text" >>"$log"
	equal explore_select_failed "$(grep -c 'FAIL' <<<"$text")" 0
	equal explore_select_seeded "$(grep -c 'found: assert' <<<"$text")" 3
}

# Each macro evaluates its channel once.
match_evaluates_once() {
	local program=$out/match_eval compiler text
	for compiler in gcc clang; do
		compiled "$program" "$CC_FINDINGS/match_eval.c" $compiler -O2
		text=$("$program" 2>&1)
		echo "$text" >>"$log"
		equal "match_eval_$compiler" "$(sed -n 's/^cc_.*: \([0-9]\).*/\1/p' <<<"$text" |
			tr -d '\n')" 11111
	done
	passes typed_once build/test typed_once_test
}

# Objects that were freed are named (the program that shows it is in findings.programs).
freed_objects() {
	passes freed build/test freed_test
}

part match_evaluates_once
part freed_objects
part selects_that_miss
part selects_explored
