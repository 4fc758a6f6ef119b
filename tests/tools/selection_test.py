"""selection_test: a name that selects nothing is an error that names it, for every tool that
takes names; and tools/explore --only leaves out no scenario that matches."""
import glob
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
AREA = "one() { show line 1 1 ok; }\npart one\npart two\n"
# The last two do not stand in the file that uses them.
HEADER = ("#define MADE_SCENARIO(name, ...) SCENARIO(name, __VA_ARGS__)\n"
          "#define MADE_TWICE(name) \\\n\tMADE_SCENARIO(name##_a, 1) \\\n\tMADE_SCENARIO(name##_b, 2)\n")


def load(name):
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader(name, os.path.join(ROOT, "tools", name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def run(*command, **options):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **options)
    return done.returncode, done.stdout


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        return self.path(name)


class ExploreTest(Folder):
    def wanted(self, text, pattern):
        self.write("made.h", HEADER)
        return load("explore").program_wanted(self.write("wait_made.c", text), pattern)

    def test_plain_scenario_is_found_by_its_name(self):
        self.assertTrue(self.wanted("SCENARIO(flag, 1)\n", "wait_made/flag"))
        self.assertFalse(self.wanted("SCENARIO(flag, 1)\n", "other"))

    def test_scenario_of_an_included_macro_is_not_left_out(self):
        text = '#include "made.h"\nMADE_SCENARIO(flag, 1)\n'
        self.assertTrue(self.wanted(text, "wait_"))
        text = '#include "made.h"\nMADE_TWICE(flag)\n'
        self.assertTrue(self.wanted(text, "flag_b"))

    def test_included_macro_that_is_not_used_builds_nothing(self):
        self.assertFalse(self.wanted('#include "made.h"\nSCENARIO(flag, 1)\n', "other"))

    def test_every_program_is_found_by_its_own_name(self):
        explore = load("explore")
        programs = [path for path in glob.glob(os.path.join(ROOT, "tests", "explore", "*.c"))
                    if re.search(r"^\w*SCENARIO\w*\(", explore.read(path), re.M)]
        self.assertGreater(len(programs), 30)
        for path in programs:
            self.assertTrue(explore.program_wanted(path, explore.name_of(path) + "/"), path)

    def test_scenario_that_only_would_leave_out_is_told(self):
        explore = load("explore")
        explore.HERE = self.folder
        self.write("one.c", "SCENARIO(seen, 1)\nHIDDEN(unseen)\n")
        self.assertEqual(explore.left_out([("one", "", "seen"), ("one", "", "unseen")]),
                         ["one/unseen"])


class NameTest(Folder):
    def test_unknown_part_of_an_area(self):
        self.write("tools/accept.d/area", AREA)
        shutil.copy(os.path.join(ROOT, "tools", "accept"), self.path("tools/accept"))
        for parts, status in (("one", 0), ("one three", 2), ("three", 2)):
            got, text = run("bash", self.path("tools/accept"), "area",
                            env=dict(os.environ, PART=parts))
            self.assertEqual(got, status, text)
            if status != 0:
                self.assertIn("accept: no part three; the parts of area are: one two\n", text)

    def test_unknown_test_for_noise(self):
        self.write("build/tests/one_test", "")
        status, text = run(sys.executable, os.path.join(ROOT, "tools", "noise"), "--build",
                           self.path("build"), "1", "one", "other")
        self.assertEqual(status, 2)
        self.assertIn("contains other\n", text)

    def program(self, name, *sources):
        """A program of the tree, without the library."""
        out = self.path(name)
        subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-o", out, *sources] +
                       ["-I" + os.path.join(ROOT, folder) for folder in ("include", "src", "tests")],
                       check=True)
        return out

    def test_pattern_that_no_test_matches(self):
        one = self.write("one_test.c", '#include "test.h"\nTEST(keeps_order)\n{\n}\n')
        program = self.program("one_test", one, os.path.join(ROOT, "tests", "test_main.c"))
        self.assertEqual(run(program, "--repeat", "3", "order")[0], 0)
        for args in (["oder"], ["order", "oder"], ["--list", "oder"], ["--repeat", "3", "oder*"]):
            status, text = run(program, *args)
            self.assertEqual(status, 2, text)
            self.assertRegex(text, r"^no test matches 'oder\*?'")

    def test_unknown_benchmark_case(self):
        with open(os.path.join(ROOT, "bench", "ccc_bench.c"), encoding="utf-8") as f:
            tables = re.findall(r"\b(bench_\w+_cases)\b", f.read())
        stub = '#include "%s/bench/bench.h"\n#include <stdio.h>\n' % ROOT
        stub += "".join(f"const struct bench_case {name}[1];\n" for name in sorted(set(tables)))
        stub += "".join(f"{what} {{}}\n" for what in (
            "void bench_start(void)", "void bench_stop(void)", "void bench_args(int n, char **v)",
            "void bench_spawn(CCTask *t, cc_task_main *m, void *a)", "void bench_join(CCTask t)"))
        stub += 'void bench_none(const char *name) { printf("{\\"na\\":true}\\n"); }\n'
        program = self.program("bench", os.path.join(ROOT, "bench", "ccc_bench.c"),
                               self.write("stub.c", stub))
        status, text = run(program, "no_such_case")
        self.assertEqual(status, 2, text)
        self.assertIn("ccc-bench: no case 'no_such_case'", text)


if __name__ == "__main__":
    unittest.main()
