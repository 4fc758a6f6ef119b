"""instructions_test: what an operation takes is counted without the start, a case that takes
over 1 % more is marked, and every benchmark case is counted or left out for a reason."""
import fnmatch
import glob
import importlib.machinery
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.path.join(ROOT, "tools", "instructions")

# Counts what the file ccc-bench says: a line `CASE START EACH`, for n operations.
VALGRIND = r"""#!/bin/sh
while case $1 in -*) true ;; *) false ;; esac; do shift; done
n=$(echo "$@" | sed -n 's/.* n=\([0-9]*\).*/\1/p')
awk -v name="$2" -v n="$n" '$1 == name {
	if (n == "") n = 100000
	print "{\"case\":\"" name "\",\"ops\":" n "}"
	printf "==1== Collected : %d\n", $2 + n * $3 >"/dev/stderr"
	there = 1
}
END { if (!there) print "{\"case\":\"" name "\",\"na\":true}" }' "$1"
"""
PLANTED = r"""#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	long n = argc > 3 ? atol(argv[3] + 2) : 1;
	for (long i = 0; i < n; i++)
		for (volatile int turn = 0; turn < TURNS; turn++)
			continue;
	printf("{\"case\":\"%s\",\"ops\":%ld}\n", argv[1], n);
	return 0;
}
"""
CMAKE = """\
cmake_minimum_required(VERSION 3.16)
project(fake NONE)
add_custom_target(ccc-bench COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/costs
	${CMAKE_BINARY_DIR}/bench/ccc-bench)
"""


def load():
    loader = importlib.machinery.SourceFileLoader("instructions", TOOL)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


class InstructionsTest(unittest.TestCase):
    def setUp(self):
        sys.dont_write_bytecode = True
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        write(self.path("bin/valgrind"), VALGRIND)
        os.chmod(self.path("bin/valgrind"), 0o755)
        write(self.path("tools/instructions"), "")
        shutil.copy(TOOL, self.path("tools/instructions"))
        self.build("build/release", "yield_pair 5000 130\nselect_2 7000 1000\n")

    def path(self, name):
        return os.path.join(self.root, name)

    def build(self, name, costs):
        write(self.path(name + "/bench/ccc-bench"), costs)

    def run_tool(self, *args):
        env = dict(os.environ, PATH=self.path("bin") + os.pathsep + os.environ["PATH"])
        done = subprocess.run([sys.executable, self.path("tools/instructions"), *args], env=env,
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_start_is_not_counted(self):
        status, text = self.run_tool("yield_pair", "select_2")
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"\nyield_pair +130\.0\n")
        self.assertRegex(text, r"\nselect_2 +1000\.0\n")

    def test_over_one_percent_is_marked(self):
        self.build("old", "yield_pair 90000 128\nselect_2 1 995\n")
        status, text = self.run_tool("--base-build", self.path("old"), "yield_pair", "select_2")
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"\nyield_pair +128\.0 +130\.0 +\+1\.56 % <<<\n")
        self.assertRegex(text, r"\nselect_2 +995\.0 +1000\.0 +\+0\.50 %\n")
        self.assertIn("\n1 of 2 cases up by more than 1 %\n", text)

    def test_what_is_allowed_is_not_marked(self):
        self.build("old", "yield_pair 90000 126\nselect_2 1 980\n")
        status, text = self.run_tool("--base-build", self.path("old"), "--allow", "4", "yield_pair",
                                     "select_2")
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"\nyield_pair +126\.0 +130\.0 +\+3\.17 %\n")
        self.assertRegex(text, r"\nselect_2 +980\.0 +1000\.0 +\+2\.04 % <<<\n")
        self.assertIn("\n1 of 2 cases up by more than 1 % and 4 instructions a switch\n", text)

    def test_counts_are_kept_in_a_file(self):
        status, text = self.run_tool("--save", self.path("kept"), "yield_pair")
        self.assertEqual(status, 0, text)
        with open(self.path("kept"), encoding="utf-8") as f:
            self.assertEqual(json.load(f), {"yield_pair": 130.0})
        self.build("build/release", "yield_pair 0 260\n")
        status, text = self.run_tool("--compare", self.path("kept"), "yield_pair")
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"\nyield_pair +130\.0 +260\.0 +\+100\.00 % <<<\n")

    # ---- the gate ----

    def gate_file(self, *lines):
        path = self.path("bench/instructions.txt")
        write(path, "# About it.\n\n[cc 1.2 z80]\nselect_2 1\n[gcc 9 x]\n" + "\n".join(lines) + "\n")
        return path

    def gate(self, path, *more):
        return self.run_tool("--gate", path, "--compiler", "gcc 9 x", *more)

    def test_gate_lets_one_percent_through(self):
        status, text = self.gate(self.gate_file("yield_pair 128.8", "select_2 5000 for a test"))
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"\nyield_pair +128\.8 +130\.0 +\+0\.93 %\n")
        self.assertIn("\n0 of 2 cases up by more than 1 %, with gcc 9 x\n", text)

    def test_gate_stops_more_than_one_percent(self):
        path = self.gate_file("yield_pair 128.6", "select_2 1000")
        status, text = self.gate(path)
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"\nyield_pair +128\.6 +130\.0 +\+1\.09 % <<<\n")
        self.assertIn("record it with a reason", text)

    def test_gate_has_nothing_to_say_about_another_compiler(self):
        status, text = self.run_tool("--gate", self.gate_file("yield_pair 1"), "--compiler", "tcc 1")
        self.assertEqual(status, 77, text)
        self.assertIn("has no counts of tcc 1", text)

    def test_gate_finds_the_compiler_of_the_build(self):
        write(self.path("build/release/CMakeFiles/3.9/CMakeCCompiler.cmake"),
              'set(CMAKE_C_COMPILER_ID "Clang")\nset(CMAKE_C_COMPILER_VERSION "14.0.6")\n')
        path = self.gate_file("yield_pair 130")
        write(path, f"[clang 14.0 {os.uname().machine}]\nyield_pair 130\n")
        status, text = self.run_tool("--gate", path)
        self.assertEqual(status, 0, text)

    def test_gate_wants_a_reason_for_a_count_that_rose(self):
        git = ["git", "-C", self.root, "-c", "user.name=x", "-c", "user.email=x@example.org"]
        path = self.gate_file("yield_pair 120", "select_2 1000")
        subprocess.run(git + ["init", "-q"], check=True)
        subprocess.run(git + ["add", "bench/instructions.txt"], check=True)
        subprocess.run(git + ["commit", "-qm", "x"], check=True)
        for committed in (False, True):
            self.gate_file("yield_pair 130", "select_2 990")
            if committed:
                subprocess.run(git + ["commit", "-qam", "x"], check=True)
            status, text = self.gate(path)
            self.assertEqual(status, 1, text)
            self.assertRegex(text, r"\nraised in .* without a reason on the line: yield_pair\n")
            self.assertIn("select_2", text)
        subprocess.run(git + ["reset", "-q", "--hard", "HEAD~1"], check=True)
        self.gate_file("yield_pair 130 it does more", "select_2 1000")
        self.assertEqual(self.gate(path)[0], 0)

    def test_record_keeps_the_rest_of_the_file(self):
        path = self.gate_file("yield_pair 120", "select_2 1100 old reason")
        status, text = self.run_tool("--record", path, "--compiler", "gcc 9 x", "--reason", "it waits")
        self.assertEqual(status, 0, text)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        self.assertTrue(text.startswith("# About it.\n\n[cc 1.2 z80]\nselect_2 1\n[gcc 9 x]\n"), text)
        self.assertRegex(text, r"\nyield_pair +130\.0  it waits\n")
        self.assertRegex(text, r"\nselect_2 +1000\.0  old reason\n")

    def test_record_begins_a_section(self):
        path = self.gate_file("yield_pair 120")
        self.assertEqual(self.run_tool("--record", path, "--compiler", "tcc 1")[0], 0)
        with open(path, encoding="utf-8") as f:
            self.assertRegex(f.read(), r"\n\[tcc 1\]\nselect_2 +1000\.0\n$")

    def test_gate_with_an_unknown_case_is_wrong(self):
        status, text = self.gate(self.gate_file("nonesuch 120"))
        self.assertEqual(status, 2, text)
        self.assertIn("not a case: nonesuch", text)

    @unittest.skipUnless(shutil.which("valgrind") and shutil.which("cc"), "no valgrind or no cc")
    def test_gate_stops_a_planted_slow_down(self):
        """Real instructions of a real program, of which one build does 2 % more for each operation."""
        write(self.path("case.c"), PLANTED)
        program = self.path("build/release/bench/ccc-bench")
        os.remove(self.path("bin/valgrind"))
        write(self.path("bench/instructions.txt"), "[gcc 9 x]\nyield_pair 1\n")
        path = self.path("bench/instructions.txt")
        for turns, expected in ((100, None), (100, 0), (102, 1)):
            subprocess.run(["cc", "-O1", f"-DTURNS={turns}", "-o", program, self.path("case.c")],
                           check=True)
            if expected is None:
                self.assertEqual(self.run_tool("--record", path, "--compiler", "gcc 9 x")[0], 0)
                continue
            status, text = self.gate(path)
            self.assertEqual(status, expected, text)

    def test_stored_counts_are_of_cases(self):
        tool = load()
        with open(os.path.join(ROOT, "bench", "instructions.txt"), encoding="utf-8") as f:
            text = f.read()
        names = {case[0] for case in tool.CASES}
        for compiler in re.findall(r"^\[(.+)\]$", text, re.M):
            stored = tool.section_of(text, compiler)
            self.assertGreater(len(stored), 15)
            self.assertLessEqual(set(stored), names)

    def test_base_is_built_from_its_revision(self):
        git = ["git", "-C", self.root, "-c", "user.name=x", "-c", "user.email=x@example.org"]
        write(self.path("CMakeLists.txt"), CMAKE)
        for cost in (100, 999):
            write(self.path("costs"), f"yield_pair 0 {cost}\n")
            if cost == 100:
                subprocess.run(git + ["init", "-q"], check=True)
                subprocess.run(git + ["add", "CMakeLists.txt", "costs"], check=True)
            subprocess.run(git + ["commit", "-qam", "x"], check=True)
        status, text = self.run_tool("--base", "HEAD~1", "yield_pair")
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"\nyield_pair +100\.0 +130\.0 +\+30\.00 % <<<\n")
        status, text = self.run_tool("--base", "no-such-revision", "yield_pair")
        self.assertNotEqual(status, 0)
        self.assertIn("no-such-revision", text)

    def test_case_that_the_base_does_not_have_is_no_change(self):
        self.build("old", "select_2 1 1000\n")
        status, text = self.run_tool("--base-build", self.path("old"), "yield_pair")
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"\nyield_pair +- +130\.0 +-\n")

    def test_case_that_this_build_does_not_have_is_a_failure(self):
        status, text = self.run_tool("yield_1000")
        self.assertEqual(status, 1, text)
        self.assertIn("not in this build: yield_1000\n", text)

    def test_unknown_case_is_told(self):
        status, text = self.run_tool("yield_pair", "nonesuch")
        self.assertEqual((status, text), (2, "instructions: no case nonesuch\n"))

    def test_every_benchmark_case_is_counted_or_left_out(self):
        tool = load()
        names = set()
        for path in glob.glob(os.path.join(ROOT, "bench", "*.c")):
            with open(path, encoding="utf-8") as f:
                names |= set(re.findall(r'\{"([^"]+)", \w+, [\w |]+\}', f.read()))
        self.assertGreater(len(names), 60)
        counted = {name if isinstance(large, int) else large for name, _, large in tool.CASES}
        for name in names:
            if "*" not in name and name not in counted:
                self.assertTrue(any(fnmatch.fnmatch(name, p) for p in tool.LEFT_OUT), name)
        for name in counted:
            self.assertTrue(any(fnmatch.fnmatch(name, pattern) for pattern in names), name)


if __name__ == "__main__":
    unittest.main()
