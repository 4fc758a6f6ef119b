"""ladder_test: a test that fails once and passes alone is told as flaky and lets the run go
on; a test that always fails, a third flaky one and one that tests/flaky.txt names fail it."""
import os
import re
import shutil
import stat
import subprocess
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

# Fails every second time, the first time too.  Two cases.
FLAKY = """#!/bin/sh
echo "ok    steady"
if [ -e "$0.ran" ]; then rm "$0.ran"; echo "ok    shaky"; echo "2 passed, 0 failed"; exit; fi
touch "$0.ran"
echo "      shaky: TEST_SEED=4711"
echo "x.c:3: failed: a == b"
echo "FAIL  shaky"
echo "1 passed, 1 failed"
exit 1
"""
NO_SEED = FLAKY.replace("TEST_SEED=4711", "no seed")
FAILS = """#!/bin/sh
echo "y.c:4: failed: never"
echo "FAIL  broken"
echo "0 passed, 1 failed"
exit 1
"""
PASSES = """#!/bin/sh
echo "3 passed, 0 failed"
"""
# The same, and says in a file when it runs.
TELLS = FLAKY.replace('echo "ok    steady"', """\
runs=$(dirname "$0")/runs
echo "begin $(basename "$0")" >>"$runs"
sleep 0.3
echo "end $(basename "$0")" >>"$runs"
""")
OK = "#!/bin/sh\necho 1 passed, 0 failed\n"
# Runs its last argument; all others are valgrind's options.
VALGRIND = '#!/bin/sh\nfor last in "$@"; do :; done\nexec "$last"\n'


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    if text.startswith("#!"):
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)


class Tree:
    """A tree with the tools and with builds whose tests are scripts."""

    def __init__(self, folder):
        self.folder = folder
        for tool in ("ladder", "ctest", "flaky.sh"):
            os.makedirs(os.path.join(folder, "tools"), exist_ok=True)
            shutil.copy(os.path.join(ROOT, "tools", tool), os.path.join(folder, "tools", tool))
        for path in ("tools/lint", "tools/conformance", "tools/explore", "tests/bench/idle_path"):
            write(self.path(path), OK)
        write(self.path("Makefile"), "test:\n\t@tools/ctest build/test\n")
        self.known("")

    def path(self, name):
        return os.path.join(self.folder, name)

    def known(self, lines):
        shutil.copy(os.path.join(ROOT, "tests", "flaky.txt"), self.path("tests/flaky.txt"))
        with open(self.path("tests/flaky.txt"), "a", encoding="utf-8") as f:
            f.write(lines)

    def build(self, kind, **tests):
        commands = ""
        for name, script in tests.items():
            program = self.path(f"{kind}/tests/{name}")
            write(program, script)
            commands += f'add_test({name} "{program}")\n'
            commands += f"set_tests_properties({name} PROPERTIES LABELS valgrind)\n"
        write(self.path(f"{kind}/CTestTestfile.cmake"), commands)

    def run(self, *command):
        env = {k: v for k, v in os.environ.items() if k not in ("CI", "MAKEFLAGS", "MFLAGS")}
        env["PATH"] = self.path("bin") + os.pathsep + env["PATH"]
        done = subprocess.run(command, cwd=self.folder, env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        return done.returncode, done.stdout


class LadderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = Tree(folder.name)

    def ctest(self, **tests):
        self.tree.build("build/test", **tests)
        return self.tree.run("tools/ctest", "build/test")

    def ladder(self, *rungs, **tests):
        self.tree.build("build/test", **tests)
        return self.tree.run("tools/ladder", *(rungs or ("test", "lint")))

    def test_flaky_test_is_told_and_the_run_goes_on(self):
        status, text = self.ladder(shaky_test=FLAKY, steady_test=PASSES)
        self.assertEqual(status, 0, text)
        # Its first output, complete.
        told = re.search(r"^FLAKY shaky_test 4711\n((?:    \| .*\n)+)", text, re.M).group(1)
        for line in FLAKY.split("\n")[4:8]:
            self.assertIn("    | " + line[line.index('"') + 1:-1] + "\n", told)
        self.assertIn("    | ok    steady\n", told)
        self.assertRegex(text, r"\ntest +ok .*  5 passed, 0 failed\n")
        self.assertRegex(text, r"\nlint +ok ")
        self.assertRegex(text, r"\nFLAKY shaky_test 4711, rung test\n1 flaky: .*\n"
                               r"2 passed, 0 failed\n$")

    def test_test_that_always_fails_fails_the_run(self):
        status, text = self.ladder(broken_test=FAILS, steady_test=PASSES)
        self.assertEqual(status, 1, text)
        self.assertNotIn("FLAKY", text)
        self.assertRegex(text, r"\ntest +FAIL ")
        self.assertIn("    | 3 passed, 1 failed\n", text)
        self.assertIn("    | y.c:4: failed: never\n", text)
        self.assertRegex(text, r"1 passed, 1 failed\n$")

    def test_flaky_test_does_not_excuse_another(self):
        status, text = self.ctest(broken_test=FAILS, shaky_test=FLAKY)
        self.assertNotEqual(status, 0, text)
        self.assertIn("FLAKY shaky_test 4711\n", text)
        self.assertRegex(text, r"\n2 passed, 1 failed\n$")

    def test_two_flaky_tests_are_let_through(self):
        status, text = self.ladder(a_test=FLAKY, b_test=NO_SEED)
        self.assertEqual(status, 0, text)
        self.assertIn("FLAKY a_test 4711\n", text)
        self.assertIn("FLAKY b_test -\n", text)
        self.assertRegex(text, r"\n2 flaky: ")

    def test_three_flaky_tests_fail_the_run(self):
        status, text = self.ladder(a_test=FLAKY, b_test=FLAKY, c_test=FLAKY)
        self.assertEqual(status, 1, text)
        self.assertIn("flaky: failed: 3 in one run, at most 2 are let through\n", text)
        self.assertRegex(text, r"\ntest +FAIL ")
        self.assertIn("    | 3 passed, 3 failed\n", text)

    def test_flaky_tests_of_all_rungs_are_counted_together(self):
        self.valgrind(c_test=FLAKY)
        status, text = self.ladder("test", "valgrind", a_test=FLAKY, b_test=FLAKY)
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"\ntest +ok ")
        self.assertRegex(text, r"\nvalgrind +ok ")
        self.assertIn("FLAKY c_test 4711, rung valgrind\n3 flaky: ", text)
        self.assertRegex(text, r"at most 2 are let through\n2 passed, 1 failed\n$")

    def test_flaky_test_that_the_list_names_fails_the_run(self):
        self.tree.known("shaky_test 12 tsan: waits for 10 ms\n")
        status, text = self.ladder(shaky_test=FLAKY)
        self.assertEqual(status, 1, text)
        self.assertIn("FLAKY shaky_test 4711\n", text)
        self.assertIn("tests/flaky.txt names already: shaky_test\n", text)

    def test_names_in_comments_of_the_list_are_no_names(self):
        self.tree.known("# shaky_test 12 was mended\nother_test - unknown\n")
        status, text = self.ctest(shaky_test=FLAKY)
        self.assertEqual(status, 0, text)

    def test_second_run_is_alone(self):
        status, text = self.ctest(a_test=TELLS, b_test=TELLS)
        self.assertEqual(status, 0, text)
        with open(self.tree.path("build/test/tests/runs"), encoding="utf-8") as f:
            runs = f.read().split("\n")
        self.assertEqual(sorted([runs[4:6], runs[6:8]]),
                         [[f"begin {name}", f"end {name}"] for name in ("a_test", "b_test")])

    def test_many_failures_are_not_tried_again(self):
        status, text = self.ctest(**{f"t{i}_test": FLAKY for i in range(6)})
        self.assertNotEqual(status, 0, text)
        self.assertNotIn("once more", text)
        self.assertRegex(text, r"\n6 passed, 6 failed\n$")

    def test_program_that_is_not_there_is_counted_as_failed(self):
        self.tree.build("build/test", steady_test=PASSES, missing_test=PASSES)
        os.remove(self.tree.path("build/test/tests/missing_test"))
        status, text = self.tree.run("tools/ctest", "build/test")
        self.assertNotEqual(status, 0, text)
        self.assertRegex(text, r"\n3 passed, 1 failed\n$")

    def test_no_test_at_all_is_a_failure(self):
        self.tree.build("build/test", steady_test=PASSES)
        self.assertNotEqual(self.tree.run("tools/ctest", "build/test", "-R", "other")[0], 0)

    def valgrind(self, **tests):
        write(self.tree.path("bin/cmake"), "#!/bin/sh\n")
        write(self.tree.path("bin/valgrind"), VALGRIND)
        self.tree.build("build/ladder/valgrind", **tests)

    def test_flaky_test_under_valgrind_is_told(self):
        self.valgrind(shaky_test=FLAKY, steady_test=PASSES)
        status, text = self.ladder("valgrind", "lint")
        self.assertEqual(status, 0, text)
        self.assertIn("FLAKY shaky_test 4711\n    | ok    steady\n", text)
        self.assertRegex(text, r"\n1 flaky: .*\n2 passed, 0 failed\n$")

    def test_test_that_always_fails_under_valgrind_fails_the_run(self):
        self.valgrind(broken_test=FAILS)
        status, text = self.ladder("valgrind")
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"\nvalgrind +FAIL ")

    def test_longest_rungs_and_tests_are_told(self):
        status, text = self.ladder(slow_test="#!/bin/sh\nsleep 3\n", quick_test=PASSES)
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"\nlongest rungs: test \d+ s lint \d+ s\n")
        self.assertRegex(text, r"\nlongest tests:\n +[\d.]+ s  test +slow_test\n"
                               r" +[\d.]+ s  test +quick_test\n")

    def test_unknown_rung_is_told_before_any_is_run(self):
        status, text = self.ladder("lint", "nosuch")
        self.assertEqual((status, text), (2, "ladder: no rung 'nosuch'\n"))


if __name__ == "__main__":
    unittest.main()
