# flaky.sh - a test that failed is run once more, alone.  Read in by tools/ctest and
# tools/ladder.
#
# A test that passes the second time is flaky: its name, its seed and the complete output of
# the first failure are printed, so that a retry hides nothing, and the run goes on.
# The run fails nevertheless if more than FLAKY_MOST tests of it are flaky, or if
# tests/flaky.txt names one of them already.
# shellcheck shell=sh
FLAKY_MOST=2

flaky_report() { # NAME FILE: FILE holds the output of the first failure
	flaky_seed=$(sed -n 's/.*TEST_SEED=\([0-9][0-9]*\).*/\1/p' "$2" | head -1)
	echo "FLAKY $1 ${flaky_seed:--}"
	sed 's/^/    | /' "$2"
}

# What flaky_report printed into FILE, with or without the output of the failures.
flaky_reports() { # FILE
	awk '/^    \| / { if (on) print; next } { on = /^FLAKY [^ ]+ [0-9-]+$/ } on' "$1"
}
flaky_lines() { grep -E '^FLAKY [^ ]+ [0-9-]+$' "$1"; } # FILE

# flaky_verdict ROOT: reads the FLAKY lines of a run.  Says how many there are, and
# fails with the reason if the run must fail.
flaky_verdict() {
	awk -v most="$FLAKY_MOST" -v list="$1/tests/flaky.txt" '
		BEGIN {
			while ((getline line < list) > 0)
				if (split(line, word) > 0 && word[1] !~ /^#/) known[word[1]] = 1
		}
		$1 == "FLAKY" { n++; if ($2 in known) again = again " " $2 }
		END {
			if (n) printf "%d flaky: failed once, passed alone\n", n
			if (again) print "flaky: failed: tests/flaky.txt names already:" again
			if (n > most) printf "flaky: failed: %d in one run, at most %d are let through\n", n, most
			exit again || n > most
		}'
}
