"""mutate_test: tools/mutate makes the mutants it should, leaves alone what is no
protocol, and tells killed, hung, stillborn, explained and surviving ones apart."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MUTATE = os.path.join(ROOT, "tools", "mutate")

ATOMIC = """\
#include <stdbool.h>
typedef struct { unsigned raw; } cc__a32;
#define CC__RELAXED __ATOMIC_RELAXED
#define CC__RELEASE __ATOMIC_RELEASE
#define cc__store(a, value, order) __atomic_store_n(&(a)->raw, value, order)
#define CC__SET(p, to, order) (watched() ? slow(p, to) : cc__store(&(p)->word, to, order))
"""
CMAKE = """\
cmake_minimum_required(VERSION 3.16)
set(CMAKE_C_COMPILER_WORKS 1)
project(small C)
add_library(small STATIC src/wait/x.c)
target_include_directories(small PUBLIC src)
add_executable(x_test tests/unit/x_test.c)
target_link_libraries(x_test small)
"""
# As far as tools/mutate knows tools/explore: it builds a program and lists it.
EXPLORE = """\
import os, subprocess, sys
program = sys.argv[sys.argv.index("--program") + 1]
os.makedirs("build/explore", exist_ok=True)
out = "build/explore/" + os.path.basename(program)[:-2]
subprocess.run(["cc", "-Isrc", program, "src/wait/x.c", "-o", out], check=True)
print("small/low\\nsmall/high")
"""
SCENARIOS = """\
/* small.c - stands for a program of scenarios.
 * sources: wait/x.c */
#include <stdio.h>
#include <string.h>
#include "wait/x.h"
int main(int argc, char **argv)
{
	bool ok = argc > 2 && strcmp(argv[2], "low") == 0 ? is_small(3) : !is_small(30);

	puts(!ok ? "FAIL: assert: is_small" : is_small(10) ? "FAIL: not exhausted in 5 s" : "exhausted");
	return !ok || is_small(10);
}
"""
TEST = """\
#include "wait/x.h"
int main(void) { return !(%s); }
"""


class Tree(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)
        self.write("src/os/atomic.h", ATOMIC)

    def write(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def mutate(self, *args):
        done = subprocess.run([sys.executable, MUTATE, "--root", self.root, "src/wait", *args],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout


class Mutants(Tree):
    """Which there are."""

    def names(self, body, *args, head="void f(void)"):
        """LINE: WHAT of the mutants of a function; its first line is 1."""
        self.write("src/wait/x.c", f"{head} {{\n{body}\n}}\n")
        status, text = self.mutate("--list", *args)
        self.assertEqual(status, 0, text)
        return [re.sub(r"^src/wait/x.c:(\d+)", lambda m: str(int(m.group(1)) - 1), line)
                for line in text.splitlines()]

    def bare(self, body, *args):
        """Without the place."""
        return [re.sub(r" in .*", "", name) for name in self.names(body, *args)]

    def test_orders_are_weakened_as_the_operation_allows(self):
        self.assertEqual(self.bare("x = cc__load(&a, CC__SEQ_CST) + cc__load(&a, CC__ACQUIRE)"
                                   " + cc__load(&a, CC__RELAXED);"),
                         ["1: seq_cst -> acquire", "1: acquire -> relaxed"])
        self.assertEqual(self.bare("x = cc__add(&a, 2, CC__ACQ_REL);"),
                         ["1: drop cc__add", "1: acq_rel -> acquire", "1: acq_rel -> release"])
        self.assertEqual(self.bare("cc__store(&a, 2, CC__SEQ_CST);"),
                         ["1: delete cc__store", "1: seq_cst -> release"])
        self.assertEqual(self.bare("cc__fence(CC__SEQ_CST);"),
                         ["1: delete cc__fence", "1: seq_cst -> acq_rel"])

    def test_failure_orders_are_loads(self):
        self.assertEqual(
            self.names("return cc__cas_weak(&a, &b, f(1, 2), CC__RELEASE, CC__ACQUIRE);"),
            ["1: release -> relaxed in cc__cas_weak",
             "1: acquire -> relaxed on failure in cc__cas_weak"])

    def test_order_of_a_macro_is_what_its_body_does(self):
        self.assertEqual(self.names("CC__SET(p, 1, CC__SEQ_CST);"),
                         ["1: delete CC__SET", "1: seq_cst -> release in CC__SET"])

    def test_comparisons_and_constants_are_flipped(self):
        self.assertEqual(self.bare("x = a < b || c >= d;\nreturn true;"),
                         ["1: < -> <=", "1: || -> &&", "1: >= -> >", "2: true -> false"])
        self.assertEqual(self.bare("x = a->b << 2 >> c; y = n + 1; z = w + CC__TICKET_ONE; i++;"),
                         ["1: + 1 -> + 0", "1: + CC__TICKET_ONE -> + 0"])

    def test_if_is_negated_unless_the_flip_is_the_same(self):
        self.assertEqual(self.bare("if (a == b)\n\tx = 1;"), ["1: == -> !="])
        self.assertEqual(self.bare("if (f(a))\n\tx = 1;"), ["1: negate if"])
        self.assertEqual(self.bare("if (a && b)\n\tx = 1;"), ["1: negate if", "1: && -> ||"])

    def test_calls_are_deleted_wherever_they_are_statements(self):
        self.assertEqual(self.bare("if (!a)\n\tcc__word_abort(a);\nelse\n\tpark(a);\nx = f(1);"),
                         ["1: negate if", "2: delete cc__word_abort", "4: delete park"])
        self.assertEqual(self.names("", head="void g(void);\nint h(int a, int b)"), [])

    def test_neighbours_are_swapped_if_one_is_atomic(self):
        self.assertEqual(self.bare("w->a = 1;\nw->b = 2;\ncc__store(&w->c, 3, CC__RELAXED);"),
                         ["2: swap cc__store", "3: delete cc__store"])
        self.assertEqual(self.bare("w->a = 1;\nif (x)\n\tcc__store(&w->c, 3, CC__RELAXED);"),
                         ["2: negate if", "3: delete cc__store"])

    def test_hints_are_left_alone(self):
        self.assertEqual(self.bare("if (p != NULL && q)\n\t__builtin_prefetch(p);\n"
                                   "cc__store(&w->c, 3, CC__RELAXED);\n__builtin_prefetch(q);"),
                         ["3: delete cc__store"])

    def test_comments_strings_and_the_preprocessor_are_left_alone(self):
        self.assertEqual(self.names('/* if (a == b) f(CC__ACQUIRE); */\n// a && b\n'
                                    'x = "a == b"; y = \'<\';\n#define F(a) \\\n\t((a) == 1)\n'
                                    '#if A && B\n#endif'), [])

    def test_asserts_keep_everything_but_their_orders(self):
        self.assertEqual(self.names('CC__ASSERT(a == b, "a != b");\nCC__CHECK(cc__cas(&a, &b, 1,'
                                    ' CC__ACQUIRE, CC__RELAXED) == 1, "x");\n'
                                    'CC__LOCK_NONE_HELD("x");'),
                         ["2: acquire -> relaxed in cc__cas"])

    def test_tracing_is_left_alone(self):
        self.assertEqual(self.names("CC__EVENT(a == b, c);\ncc__watch_move(a, b && c);\n"
                                    "CC_POINT(x);"), [])
        self.assertEqual(self.names("return a == b;", head="bool cc__word_legal(int a, int b)"), [])

    def test_code_outside_of_functions_is_left_alone(self):
        self.write("src/wait/x.h", "struct x { int a : 1 < 2; };\nenum { A = 1 == 1 };\n")
        self.assertEqual(self.names(""), [])

    def test_code_the_explorer_does_not_compile_is_asked_for(self):
        body = ("#ifndef CC__EXPLORE\nx = a == 1;\n#else\nx = a != 1;\n#endif\n"
                "#ifdef CC__EXPLORE\nx = a < 1;\n#else\nx = a > 1;\n#endif\nx = a >= 1;")
        self.assertEqual(self.bare(body), ["11: >= -> >"])
        self.assertEqual(self.bare(body, "--real"), ["2: == -> !=", "9: > -> >=", "11: >= -> >"])

    def test_a_part_can_be_chosen(self):
        body = "x = a == b;\nx = a < b;\nx = a && b;"
        self.assertEqual(self.bare(body, "--only", "x.c:3"), ["2: < -> <="])
        self.assertEqual(self.bare(body, "--only", "&&"), ["3: && -> ||"])
        one = self.bare(body, "--sample", "1", "7")
        self.assertEqual((len(one), one), (1, self.bare(body, "--sample", "1", "7")))

    def explained(self, body):
        return [re.sub(r" in .*?(?=  \[|$)", "", n) for n in self.names(body) if n.endswith("]")]

    def test_explanations_stand_above_inside_or_behind_the_statement(self):
        self.assertEqual(self.explained("x = 1;\n/* Why.\n * mutant: it is\n * the same. */\n"
                                        "y = a == b;\nz = a == b;"),
                         ["5: == -> !=  [it is the same.]"])
        self.assertEqual(self.explained("y = a == b;\t/* mutant: same */\nz = a == b;"),
                         ["1: == -> !=  [same]"])
        self.assertEqual(self.explained("y = a &&\n    // mutant: same\n    b;\nz = a == b;"),
                         ["1: && -> ||  [same]"])
        self.assertEqual(self.explained("/* mutant: */\nx = a == b;"), [])

    def test_explanation_that_names_a_mutant_is_about_that_one(self):
        cas = "x = cc__cas(&a, &b, 1, CC__ACQ_REL, CC__ACQUIRE);"
        self.assertEqual(self.explained(f"/* mutant: acq_rel -> release survives: y. */\n{cas}"),
                         ["2: acq_rel -> release  [acq_rel -> release survives: y.]"])
        self.assertEqual(len(self.explained(
            f"/* mutant: acq_rel -> release, acq_rel -> acquire: z. */\n{cas}")), 2)
        self.assertEqual(self.explained(f"/* mutant: seq_cst -> acq_rel: stale. */\n{cas}"), [])
        fence = "cc__fence(CC__SEQ_CST);"
        self.assertEqual(self.explained(f"/* mutant: delete survives: y. */\n{fence}"),
                         ["2: delete cc__fence  [delete survives: y.]"])
        self.assertEqual(self.explained(f"/* mutant: delete cc__store: y. */\n{fence}"), [])
        self.assertEqual(
            self.explained("/* mutant: acquire -> relaxed on failure: y. */\n"
                           "x = cc__cas(&a, &b, 1, CC__ACQUIRE, CC__ACQUIRE);"),
            ["2: acquire -> relaxed on failure  [acquire -> relaxed on failure: y.]"])


@unittest.skipUnless(shutil.which("cmake") and shutil.which("cc"), "no cmake or no compiler")
class Verdicts(Tree):
    """What becomes of them, with real builds."""

    def project(self, body, check="is_small(9) && !is_small(10)"):
        self.write("CMakeLists.txt", CMAKE)
        self.write("tools/explore", EXPLORE)
        self.write("tests/explore/small.c", SCENARIOS)
        self.write("tests/unit/x_test.c", TEST % check)
        self.write("src/wait/x.h", '#include "os/atomic.h"\nbool is_small(int x);\n')
        self.write("src/wait/x.c", f'#include "wait/x.h"\nbool is_small(int x)\n{{\n{body}\n}}\n')

    def verdict(self, *args):
        status, text = self.mutate("--jobs", "1", "--seconds", "5", *args)
        return status, text, text.splitlines()[-1] if text else ""

    def test_killed_by_scenario_and_by_test(self):
        self.project("\tif (x == 3)\n\t\treturn true;\n\treturn x < 10;")
        out = os.path.join(self.root, "out.json")
        status, text, last = self.verdict("--only", "< -> <=", "--only", "true ->", "--json", out)
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"x\.c:5: true -> false in .*: killed by small/low in .* "
                               r"\(assert: is_small\)")
        self.assertRegex(text, r"x\.c:6: < -> <= in .*: killed by x_test in ")
        self.assertRegex(last, r"^mutants 2, stillborn 0, killed 2 "
                               r"\(explorer 1, tests 1, hang 0\), explained 0 \(0\.0 %\), "
                               r"survivors 0, \d+\.\d minutes$")
        with open(out, encoding="utf-8") as f:
            self.assertEqual([m["verdict"] for m in json.load(f)["mutants"]], ["killed"] * 2)

    def test_survivors_fail_unless_they_are_explained(self):
        weak = "is_small(9)"
        self.project("\treturn x < 10;", weak)
        status, text, last = self.verdict()
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"x\.c:4: < -> <= in `return x < 10;`: SURVIVED "
                               r"\(not exhausted: small/\w+ small/\w+\)")
        self.assertIn("survivors 1", last)
        self.project("\t/* mutant: nobody asks for 10. */\n\treturn x < 10;", weak)
        status, text, last = self.verdict("--only", "x.c:5")
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"x\.c:5: < -> <= .*: explained: nobody asks for 10")
        self.assertIn("explained 1 (100.0 %), survivors 0", last)
        status, text, last = self.verdict()
        self.assertEqual((status, last), (1, "more than 5 % explained"), text)

    def test_code_that_nobody_runs_is_said_to_be_so(self):
        self.project("\tif (x == 77) {\n\t\tx = x > 70;\n\t\treturn x == 1;\n\t}\n\treturn x < 10;")
        status, text, _ = self.verdict("--only", "x.c:5")
        self.assertEqual(status, 1, text)
        if os.uname().machine == "x86_64":
            self.assertIn("SURVIVED (nobody runs it)", text)

    def test_stillborn_mutants_do_not_count(self):
        self.project("\tstatic char c[sizeof(x) == 4 ? 1 : -1];\n\n\treturn x < 10 + c[0];")
        status, text, last = self.verdict()
        self.assertEqual(status, 0, text)
        self.assertIn("mutants 2, stillborn 1, killed 1 ", last)

    def test_test_that_hangs_has_noticed(self):
        self.project("\twhile (x == 8 && x == 9)\n\t\tcontinue;\n\treturn x < 10;")
        status, text, last = self.verdict("--only", "&& ->", "--seconds", "1")
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"killed by x_test in .* \(hang, \d+ s\)")
        self.assertIn("hang 1", last)

    def test_tree_that_fails_unchanged_is_refused(self):
        self.project("\treturn x < 10;", "false")
        status, text, _ = self.verdict()
        self.assertEqual(status, 2, text)
        self.assertIn("x_test fails on the unchanged tree", text)
        self.assertEqual(self.verdict("--anyway")[0], 1)

    def test_tests_that_ask_for_it_come_alone(self):
        self.project("\treturn x < 10;")
        self.write("tests/unit/y_test.c", '/* mutate: src/wait */\n' + TEST % "is_small(9)")
        self.write("CMakeLists.txt", CMAKE + "add_executable(y_test tests/unit/y_test.c)\n"
                                             "target_link_libraries(y_test small)\n")
        status, text, _ = self.verdict()
        self.assertEqual(status, 1, text)
        self.assertIn("1 test programs", text)


if __name__ == "__main__":
    unittest.main()
