#!/usr/bin/env python3
"""Tests of tools/conformance, each on a small tree of its own.

Run:  python3 tests/tools/conformance_test.py [-v]
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
TOOL = os.path.join(ROOT, "tools", "conformance")

# Spelt in two parts, so that the tool does not take the fixtures below for
# claims of this file.
COVERS = "cov" + "ers:"

SPEC = """\
# Requirements

| T | kind of test |
|---|---|
| u | unit test |

| id | L | requirement | T | check |
|---|---|---|---|---|
| SCH-01 | M | one kind | u | |
| SCH-02 | M | two kinds | m,s | with `x \\| y` in it |
| SCH-03 | S | wanted, not needed | b | |
| PRK-06 | M | one of two | x\\|k | |
| PRK-92 | D | derived | f | |
| LIF-03 | M | review | r | |
| LIF-72 | M | review and a sanitizer | r,z | |
| LIF-47 | O | optional | h | |

| id | about | problem | decision | T |
|---|---|---|---|---|
| RES-01 | a | b | c | * |
"""
NEEDED = ["SCH-01", "SCH-02", "PRK-06", "PRK-92", "LIF-03", "LIF-72", "RES-01"]
EXCUSED = ["SCH-03", "LIF-47"]          # levels S and O

REVIEWED = "# Reviewed\n\n| id | file | function |\n|---|---|---|\n"
REASONS = "\n## Without a test\n\n| id | reason |\n|---|---|\n"


def claim(ids):
    """A C test that claims these ids."""
    return "TEST(some_promise)\t/* %s %s */\n{\n\tCHECK(1);\n}\n" % (COVERS, ids)


class Tree(unittest.TestCase):
    """A project tree that accounts for every row but those named as `due`."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = holder.name
        self.write("docs/spec.md", SPEC)
        self.review()
        self.due()

    def write(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def due(self, *ids):
        """These ids must be covered; the others stand in the list."""
        rest = [i for i in NEEDED if i not in ids]
        self.write("tests/not-yet.txt", "# open\n\n" + "".join(i + "\n" for i in rest))

    def review(self, *rows, reasons=None):
        """These reviews; and these reasons, or one for each row that may have one."""
        if reasons is None:
            reasons = [i + " | nobody asked for it" for i in EXCUSED]
        self.write("docs/reviewed.md", REVIEWED + "".join("| %s |\n" % r for r in rows)
                   + REASONS + "".join("| %s |\n" % r for r in reasons))

    def run_tool(self, *args, stdin=None, cwd="/"):
        done = subprocess.run([sys.executable, TOOL, "--root", self.root, *args],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              input=stdin, universal_newlines=True, cwd=cwd)
        return done.returncode, done.stdout

    def passes(self, *args):
        status, out = self.run_tool(*args)
        self.assertEqual(status, 0, out)
        return out

    def fails(self, *words):
        """The tool exits with 1 and one of its error lines has all the words."""
        status, out = self.run_tool()
        self.assertEqual(status, 1, out)
        errors = [l for l in out.splitlines() if l.startswith("error: ")]
        self.assertTrue(any(all(w in e for w in words) for e in errors), out)
        return out


class Gate(Tree):
    def test_listed_rows_may_be_open(self):
        out = self.passes()
        self.assertEqual(out.splitlines()[-1],
                         "conformance: 9 rows: 0 covered, 7 not yet, "
                         "2 excused with a reason, 0 missing")

    def test_mandatory_row_without_a_claim_is_missing(self):
        self.due("SCH-01")
        out = self.fails("SCH-01", "kind u")
        self.assertEqual(out.splitlines()[-1],
                         "conformance: 9 rows: 0 covered, 6 not yet, "
                         "2 excused with a reason, 1 missing")

    def test_derived_row_without_a_claim_is_missing(self):
        self.due("PRK-92")
        self.fails("PRK-92", "kind f")

    def test_decision_without_a_claim_is_missing(self):
        self.due("RES-01")
        self.fails("RES-01")

    def test_claim_covers(self):
        self.due("SCH-01")
        self.write("tests/a_test.c", claim("SCH-01/u"))
        self.assertIn("1 covered, 6 not yet, 2 excused with a reason, 0 missing",
                      self.passes())

    def test_wrong_kind_does_not_cover(self):
        self.due("SCH-01")
        self.write("tests/a_test.c", claim("SCH-01/s"))
        self.fails("SCH-01", "kind u")

    def test_every_named_kind_is_needed(self):
        self.due("SCH-02")
        self.write("tests/a_test.c", claim("SCH-02/m"))
        out = self.fails("SCH-02", "kind s")
        self.assertNotIn("kind m", out)

    def test_kinds_add_up_over_files(self):
        self.due("SCH-02")
        self.write("tests/a_test.c", claim("SCH-02/m"))
        self.write("bench/b.c", claim("SCH-02/s"))
        self.passes()

    def test_kinds_add_up_in_one_claim(self):
        self.due("SCH-02")
        self.write("tests/a_test.c", claim("SCH-02/ms"))
        self.passes()

    def test_one_of_two_alternatives_is_enough(self):
        self.due("PRK-06")
        for kind in "xk":
            self.write("tests/a_test.c", claim("PRK-06/" + kind))
            self.passes()
        self.write("tests/a_test.c", claim("PRK-06/u"))
        self.fails("PRK-06", "kind x|k")

    def test_star_takes_any_kind(self):
        self.due("RES-01")
        for kind in "uqz":
            self.write("tests/a_test.c", claim("RES-01/" + kind))
            self.passes()

    def test_area_summary(self):
        self.due("SCH-01")
        self.write("tests/a_test.c", claim("SCH-01/u"))
        lines = [" ".join(l.split()) for l in self.passes().splitlines()]
        self.assertIn("SCH covered 1 open 1 (listed) excused 1 missing 0", lines)
        self.assertIn("LIF covered 0 open 2 (listed) excused 1 missing 0", lines)


class Reasons(Tree):
    """Rows of level S and O count like the others, but may name a reason."""

    def test_recommended_and_optional_rows_are_not_free(self):
        for bare in EXCUSED:
            self.review(reasons=[i + " | so" for i in EXCUSED if i != bare])
            self.assertIn("1 missing", self.fails(bare, "no test of kind"))

    def test_they_may_be_listed_as_not_yet(self):
        self.review(reasons=["LIF-47 | so"])
        self.write("tests/not-yet.txt", "\n".join(NEEDED + ["SCH-03"]))
        self.assertIn("8 not yet, 1 excused", self.passes())

    def test_they_may_be_covered(self):
        self.review(reasons=["LIF-47 | so"])
        self.write("bench/b.c", claim("SCH-03/b"))
        self.assertIn("1 covered, 7 not yet, 1 excused", self.passes())

    def test_reason_is_printed(self):
        self.assertIn("SCH-03  S  wants b: nobody asked for it",
                      self.passes("--list", "excused"))
        self.assertIn("nobody asked for it", self.passes("--id", "SCH-03"))

    def test_reason_must_say_something(self):
        self.review(reasons=["SCH-03 | ", "LIF-47 | so"])
        self.fails("reviewed.md:10", "SCH-03", "no reason")

    def test_reason_does_not_excuse_a_binding_row(self):
        for binding in ("SCH-01", "PRK-92", "RES-01"):
            self.due(binding)
            self.review(reasons=[i + " | so" for i in EXCUSED + [binding]])
            self.fails("reviewed.md:12", binding, "binding")

    def test_reason_of_a_covered_row_must_go(self):
        self.write("bench/b.c", claim("SCH-03/b"))
        self.fails("SCH-03", "is covered; remove the reason")

    def test_row_is_either_listed_or_excused(self):
        self.write("tests/not-yet.txt", "\n".join(NEEDED + ["SCH-03"]))
        self.fails("SCH-03", "not-yet.txt too")

    def test_unknown_id(self):
        self.review(reasons=[i + " | so" for i in EXCUSED + ["SCH-99"]])
        self.fails("reviewed.md:12", "SCH-99")

    def test_doubled_id(self):
        self.review(reasons=[i + " | so" for i in EXCUSED + ["SCH-03"]])
        self.fails("reviewed.md:12", "twice")


class Sample(Tree):
    """Claims drawn for a reader, to be checked."""

    def setUp(self):
        super().setUp()
        self.due("SCH-01", "SCH-02", "PRK-06", "LIF-03", "RES-01")
        self.write("src/a.c", "int cc__given(void);\n")
        self.review("LIF-03 | src/a.c | cc__given")
        self.write("tests/a_test.c", claim("SCH-01/u, SCH-02/ms, RES-01/u"))
        self.write("tests/b_test.c", claim("PRK-06/xk"))

    ALL = {"SCH-01 u tests/a_test.c:1 some_promise", "SCH-02 m tests/a_test.c:1 some_promise",
           "SCH-02 s tests/a_test.c:1 some_promise", "RES-01 u tests/a_test.c:1 some_promise",
           "PRK-06 x tests/b_test.c:1 some_promise", "PRK-06 k tests/b_test.c:1 some_promise",
           "LIF-03 r docs/reviewed.md:5 cc__given in src/a.c"}

    def drawn(self, count, seed):
        out = self.passes("--sample", str(count), "--seed", str(seed)).splitlines()
        self.assertEqual(out[-1], "conformance: %d claims drawn with seed %s"
                         % (len(out) - 1, seed))
        return [" ".join(line.split()) for line in out[:-1]]

    def test_claims_have_id_kind_file_and_name(self):
        self.assertEqual(set(self.drawn(7, 1)), self.ALL)

    def test_no_claim_is_drawn_twice(self):
        self.write("tests/a_test.c", claim("SCH-01/u, SCH-02/ms, RES-01/u")
                   + "// %s SCH-01/uu\n" % COVERS)
        for count in (3, 8, 100):
            claims = self.drawn(count, 5)
            self.assertEqual(len(claims), len(set(claims)))
            self.assertEqual(len(claims), min(count, 8))

    def test_same_seed_draws_the_same(self):
        self.assertEqual(self.drawn(4, 7), self.drawn(4, 7))
        self.assertEqual(self.drawn(7, "word")[:4], self.drawn(4, "word"))

    def test_other_seeds_draw_others(self):
        self.assertGreater(len({tuple(self.drawn(3, seed)) for seed in range(8)}), 4)

    def test_every_claim_can_be_drawn(self):
        self.assertEqual({c for seed in range(20) for c in self.drawn(2, seed)}, self.ALL)

    def test_moved_test_is_still_drawn(self):
        before = [line.split()[:2] for line in self.drawn(3, 7)]
        self.write("tests/a_test.c", "\n\n" + claim("SCH-01/u, SCH-02/ms, RES-01/u"))
        self.assertEqual([line.split()[:2] for line in self.drawn(3, 7)], before)

    def test_number_must_be_positive(self):
        for count in ("0", "-1", "many"):
            self.assertEqual(self.run_tool("--sample", count)[0], 2)


class NotYet(Tree):
    def test_covered_row_must_leave_the_list(self):
        self.write("tests/a_test.c", claim("SCH-01/u"))
        self.fails("SCH-01", "remove it")

    def test_half_covered_row_may_stay(self):
        self.write("tests/a_test.c", claim("SCH-02/m"))
        self.passes()

    def test_unknown_id_in_the_list(self):
        self.write("tests/not-yet.txt", "\n".join(NEEDED + ["SCH-99"]))
        self.fails("not-yet.txt", "SCH-99")

    def test_rubbish_in_the_list(self):
        self.write("tests/not-yet.txt", "\n".join(NEEDED + ["later"]))
        self.fails("not-yet.txt:8", "later")

    def test_doubled_id_in_the_list(self):
        self.write("tests/not-yet.txt", "\n".join(NEEDED + ["SCH-01"]))
        self.fails("not-yet.txt:8", "twice")

    def test_comments_in_the_list(self):
        self.write("tests/not-yet.txt", "\n".join(i + "  # soon" for i in NEEDED))
        self.passes()

    def test_shrink_check_passes_when_ids_go(self):
        self.due("SCH-01")
        old = self.write("old.txt", "\n".join(NEEDED))
        self.assertIn("had 7 ids, has 6", self.passes("--shrink-check", old))

    def test_shrink_check_fails_when_an_id_comes(self):
        old = self.write("old.txt", "\n".join(i for i in NEEDED if i != "RES-01"))
        status, out = self.run_tool("--shrink-check", old)
        self.assertEqual(status, 1)
        self.assertIn("RES-01 was added", out)

    def test_shrink_check_fails_when_one_id_replaces_another(self):
        self.due("SCH-01")
        old = self.write("old.txt", "\n".join(i for i in NEEDED if i != "RES-01"))
        self.assertEqual(self.run_tool("--shrink-check", old)[0], 1)

    def test_shrink_check_reads_stdin(self):
        self.assertEqual(self.run_tool("--shrink-check", "-", stdin="\n".join(NEEDED))[0], 0)
        self.assertEqual(self.run_tool("--shrink-check", "-", stdin="SCH-01\n")[0], 1)

    def test_shrink_check_without_the_old_file(self):
        self.assertEqual(self.run_tool("--shrink-check", "/nowhere/old.txt")[0], 2)


class Claims(Tree):
    def test_unknown_id(self):
        self.write("tests/a_test.c", claim("SCH-99/u"))
        self.fails("tests/a_test.c:1", "SCH-99")

    def test_unknown_area(self):
        self.write("tests/a_test.c", claim("ABC-01/u"))
        self.fails("tests/a_test.c:1", "ABC-01")

    def test_unknown_kind(self):
        self.write("tests/a_test.c", claim("SCH-03/by"))
        self.fails("SCH-03", "unknown kind 'y'")

    def test_claim_of_a_seeded_bug(self):
        scenario = "SCENARIO(hole, .body = {a, b},\n         .expect = \"lost wake\") /* covers: SCH-03/b */\n"
        self.write("tests/explore/a.c", scenario)
        self.fails("tests/explore/a.c:2", "hole passes when a failure is found")
        self.write("tests/explore/a.c", scenario.replace("expect", "init"))
        self.assertNotIn("passes when", self.run_tool()[1])

    def test_no_kind(self):
        self.write("tests/a_test.c", claim("SCH-03"))
        self.fails("SCH-03", "say the kind")

    def test_no_id(self):
        self.write("tests/a_test.c", claim(""))
        self.fails("tests/a_test.c:1", "without an id")

    def test_words_after_the_ids(self):
        self.write("tests/a_test.c", claim("SCH-03/b mostly"))
        self.fails("tests/a_test.c:1", "mostly")

    def test_review_is_not_claimed_in_a_comment(self):
        self.write("tests/a_test.c", claim("LIF-03/r"))
        self.fails("LIF-03", "docs/reviewed.md")

    def test_claims_on_optional_rows_are_checked(self):
        self.write("tests/a_test.c", claim("LIF-47/h, SCH-03/9"))
        self.fails("SCH-03", "unknown kind '9'")

    def test_spaces_separate_as_commas_do(self):
        self.due("SCH-01", "RES-01")
        self.write("tests/a_test.c", claim("SCH-01/u RES-01/u"))
        self.passes()

    def test_block_comment_continues(self):
        self.due("SCH-01", "SCH-02", "RES-01")
        self.write("tests/a_test.c", "/* About something.\n * %s SCH-01/u,\n"
                   " * SCH-02/ms,\n * RES-01/u\n * and that is all. */\n" % COVERS)
        self.passes()

    def test_line_comments_continue(self):
        self.due("SCH-01", "RES-01")
        self.write("tests/a_test.c", "// %s\n//\tSCH-01/u\n// RES-01/u\n" % COVERS)
        self.passes()

    def test_bad_id_on_a_continued_line_names_that_line(self):
        self.write("tests/a_test.c", "// %s RES-01/b\n// SCH-99/u\n" % COVERS)
        self.fails("tests/a_test.c:2", "SCH-99")

    def test_code_ends_a_claim(self):
        self.due("RES-01")
        self.write("tests/a_test.c", "// %s SCH-03/b\nint x; // RES-01/u\n" % COVERS)
        self.fails("RES-01")

    def test_only_comments_claim(self):
        self.due("SCH-01")
        self.write("tests/a_test.c", 'const char *s = "// %s SCH-01/u";\n' % COVERS)
        self.fails("SCH-01")

    def test_quoted_example_does_not_claim(self):
        self.due("SCH-01")
        self.write("tests/a.h", "/* How to write one:\n *\tTEST(x)\t// %s SCH-01/u\n"
                   " * or `%s SCH-01/u`. */\n" % (COVERS, COVERS))
        self.fails("SCH-01", "kind u")

    def test_python_and_shell_comments_claim(self):
        self.due("SCH-01", "SCH-02", "RES-01")
        self.write("tests/a.py", 'def test_a():\n    """Says.\n\n    %s SCH-01/u\n    """\n'
                   "x = 1  # %s SCH-02/m\n" % (COVERS, COVERS))
        self.write("tools/b", "#!/bin/sh\n# %s SCH-02/s RES-01/l\n" % COVERS)
        self.passes()

    def test_python_string_does_not_claim(self):
        self.due("SCH-01")
        self.write("tests/a.py", 'x = """\n# %s SCH-01/u\n"""\n' % COVERS)
        self.fails("SCH-01")

    def test_all_directories_are_scanned(self):
        self.due("SCH-01")
        for place in ("tests/unit", "bench", "tools", "src/base"):
            path = self.write(place + "/a.c", claim("SCH-01/u"))
            self.passes()
            os.remove(path)
            self.fails("SCH-01")

    def test_other_directories_are_not(self):
        self.due("SCH-01")
        self.write("examples/a.c", claim("SCH-01/u"))
        self.fails("SCH-01")

    def test_binary_file_is_passed_over(self):
        path = self.write("tests/blob", "")
        with open(path, "wb") as f:
            f.write(b"\xff\xfe\x00" + COVERS.encode())
        self.passes()


class Reviews(Tree):
    SOURCE = ("/* Elsewhere:\nint f_mentioned(int x);\n*/\n"
              "static struct cc__x *cc__given(int a)\n{\n\tcc__called(a);\n\treturn 0;\n}\n"
              "#define CC__MACRO(x) (x)\n"
              "__attribute__((noinline)) int cc__marked(void);\n")

    def setUp(self):
        super().setUp()
        self.due("LIF-03")
        self.write("src/a.c", self.SOURCE)

    def test_review_covers(self):
        for name in ("cc__given", "CC__MACRO", "cc__marked", "`cc__given`"):
            self.review("LIF-03 | src/a.c | " + name)
            self.passes()

    def test_file_must_exist(self):
        self.review("LIF-03 | src/b.c | cc__given")
        self.fails("reviewed.md:5", "no file 'src/b.c'")

    def test_function_must_exist(self):
        self.review("LIF-03 | src/a.c | cc__gone")
        self.fails("reviewed.md:5", "cc__gone")

    def test_call_is_not_a_declaration(self):
        self.review("LIF-03 | src/a.c | cc__called")
        self.fails("cc__called")

    def test_mention_in_a_comment_is_not_a_declaration(self):
        self.review("LIF-03 | src/a.c | f_mentioned")
        self.fails("f_mentioned")

    def test_part_of_a_name_is_not_the_name(self):
        self.review("LIF-03 | src/a.c | given")
        self.fails("given")

    def test_unknown_id(self):
        self.due()
        self.review("LIF-99 | src/a.c | cc__given")
        self.fails("reviewed.md:5", "LIF-99")

    def test_row_without_function(self):
        self.review("LIF-03 | src/a.c")
        self.fails("reviewed.md:5", "LIF-03")

    def test_real_test_replaces_a_review(self):
        self.write("tests/a_test.c", claim("LIF-03/u"))
        self.passes()

    def test_review_beside_a_test_needs_both(self):
        self.due("LIF-72")
        self.write("tests/a_test.c", claim("LIF-72/z"))
        self.fails("LIF-72", "kind r")
        self.review("LIF-72 | src/a.c | cc__given")
        self.passes()
        self.write("tests/a_test.c", "")
        self.fails("LIF-72", "kind z")


class Spec(Tree):
    def test_doubled_row(self):
        self.write("docs/spec.md", SPEC + "| RES-01 | a | b | c | * |\n")
        self.fails("RES-01", "twice")

    def test_unknown_kind(self):
        self.write("docs/spec.md", SPEC + "| RES-02 | a | b | c | y |\n")
        self.fails("RES-02", "bad kinds")

    def test_unknown_level(self):
        self.write("docs/spec.md", SPEC.replace("| SCH-03 | S |", "| SCH-03 | X |"))
        self.fails("SCH-03", "unknown level")

    def test_wrong_number_of_cells(self):
        self.write("docs/spec.md", SPEC + "| RES-02 | a | b | * |\n")
        self.fails("RES-02", "4 cells")

    def test_row_without_its_last_bar(self):
        self.write("docs/spec.md", SPEC + "| RES-02 | a | b | c | *\n")
        self.fails("bar")

    def test_empty_specification(self):
        self.write("docs/spec.md", "# Requirements\n")
        self.assertEqual(self.run_tool()[0], 2)


class Printing(Tree):
    def test_id_shows_who_claims_it(self):
        self.write("tests/a_test.c", "\n" + claim("SCH-02/m"))
        out = self.passes("--id", "SCH-02")
        self.assertIn("tests/a_test.c:2  some_promise", out)
        self.assertIn("still wants s", out)

    def test_id_finds_the_test_below_and_around(self):
        self.write("tests/a_test.c", "/* %s SCH-02/m */\nTEST(below)\n{\n}\n" % COVERS)
        self.write("tests/b.py", 'def test_around():\n    """%s SCH-02/m"""\n' % COVERS)
        out = self.passes("--id", "SCH-02")
        self.assertIn("tests/a_test.c:1  below", out)
        self.assertIn("tests/b.py:2  test_around", out)

    def test_id_finds_the_scenario_above_that_has_several_lines(self):
        self.write("tests/a.c", "SCENARIO(first, .init = f,\n         .body = {a, b},\n"
                   "         .daemon = 2)\n/* %s SCH-02/m */\nSCENARIO(second, .init = f,\n"
                   "         .daemon = 2)\n/* %s RES-01/m */\n" % (COVERS, COVERS))
        self.assertIn("tests/a.c:4  first", self.run_tool("--id", "SCH-02")[1])
        self.assertIn("tests/a.c:7  second", self.run_tool("--id", "RES-01")[1])

    def test_unknown_id(self):
        self.assertEqual(self.run_tool("--id", "SCH-99")[0], 2)

    def test_lists(self):
        self.due("SCH-01", "PRK-92")
        self.write("tests/a_test.c", claim("SCH-01/u SCH-02/m"))
        ids = lambda which: [l.split()[0] for l in self.run_tool("--list", which)[1].splitlines()
                             if l[:3].isupper()]
        self.assertEqual(ids("covered"), ["SCH-01"])
        self.assertEqual(ids("missing"), ["PRK-92"])
        self.assertEqual(ids("open"), ["SCH-02", "PRK-06", "LIF-03", "LIF-72", "RES-01"])
        self.assertIn("SCH-02  M  wants s", self.run_tool("--list", "open")[1])


class Project(unittest.TestCase):
    def test_page_has_every_id(self):
        """The areas of docs/spec.md have as many rows as its first table says."""
        with open(os.path.join(ROOT, "docs", "spec.md"), encoding="utf-8") as f:
            rows = [[c.strip() for c in l.split("|")[1:-1]] for l in f if l.startswith("| ")]
        said = {r[0]: r[2] for r in rows if len(r) == 3 and len(r[0]) == 3 and r[0].isupper()}
        wanted = {area: int(text.split()[0]) for area, text in said.items()}
        self.assertEqual(list(wanted), ["SCH", "LIF", "WKG", "CHN", "PRK", "RES"])
        for area, count in wanted.items():
            found = sorted(int(r[0][4:]) for r in rows if r[0].startswith(area + "-"))
            unused = [int(n) for n in re.findall(area + r"-(\d+)", said[area])]
            expected = [n for n in range(1, count + len(unused) + 1) if n not in unused]
            self.assertEqual(found, expected)

    def test_page_explains_every_kind(self):
        """The legend of docs/spec.md and the tool know the same letters."""
        with open(os.path.join(ROOT, "docs", "spec.md"), encoding="utf-8") as f:
            legend = f.read().split("| T | kind of test |\n|---|---|\n")[1].split("\n\n")[0]
        letters = sorted(l.split()[1] for l in legend.splitlines())
        with open(TOOL, encoding="utf-8") as f:
            kinds = next(l for l in f if l.startswith("KINDS = ")).split('"')[1]
        self.assertEqual(letters, sorted(kinds))

    def test_runs_from_anywhere(self):
        done = subprocess.run([TOOL, "--id", "SCH-04"], cwd="/", stdout=subprocess.PIPE,
                              universal_newlines=True)
        self.assertEqual(done.returncode, 0)
        self.assertIn("SCH-04  level M  asks for d", done.stdout)


if __name__ == "__main__":
    unittest.main()
