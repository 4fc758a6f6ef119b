"""manual_test: every public name has a manual page with an example; the examples compile without a
warning, run, and pass the line that uses the name; mandoc has no remark on any page."""
import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
MANUAL = os.path.join(ROOT, "tools/manual")
sys.path.insert(0, os.path.join(ROOT, "tools/manual.d"))
sys.dont_write_bytecode = True
import examples
import headers

# They declare, so no instruction stands behind them.
DECLARE = {"cc_chan_type", "cc_task_decl", "cc_par_decl"}
FLAGS = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g", "-I" + os.path.join(ROOT, "include")]


def lines_run(folder, name):
    """The numbers of the lines of an example that ran, and of those that could."""
    text = subprocess.run(["gcov", "--json-format", "--stdout", name + ".gcda"], cwd=folder,
                          check=True, capture_output=True, text=True).stdout
    ran, could = set(), set()
    for document in text.splitlines():
        for file in json.loads(document)["files"]:
            if file["file"].endswith(f"/{name}.c"):
                could |= {line["line_number"] for line in file["lines"]}
                ran |= {line["line_number"] for line in file["lines"] if line["count"]}
    return ran, could


def build_and_run(folder, path, coverage):
    """Path, exit status and output; with coverage the lines that ran."""
    name = os.path.basename(path)[:-2]
    program = os.path.join(folder, name)
    compiler = ["gcc", "--coverage"] if coverage else [os.environ.get("CC", "cc")]
    subprocess.run([*compiler, *FLAGS, "-c", path, "-o", program + ".o"], check=True, cwd=folder)
    subprocess.run([*compiler, program + ".o", os.environ["CCC_LIBRARY"], "-pthread", "-o", program],
                   check=True, cwd=folder)
    run = subprocess.run([program], cwd=folder, text=True, capture_output=True, timeout=120,
                         check=False)
    return path, run.returncode, run.stderr, lines_run(folder, name) if coverage else None


class ManualTest(unittest.TestCase):
    def test_every_name_has_an_example(self):
        run = subprocess.run([MANUAL, "missing"], text=True, capture_output=True, check=False)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertGreater(int(re.search(r"(\d+) names", run.stdout).group(1)), 250)

    @unittest.skipUnless(shutil.which("mandoc"), "no mandoc")
    def test_mandoc_has_no_remark(self):
        run = subprocess.run([MANUAL, "lint"], text=True, capture_output=True, check=False)
        self.assertEqual(run.returncode, 0, run.stdout)

    def test_the_same_bytes_twice(self):
        with tempfile.TemporaryDirectory() as folder:
            for out in ("a", "b"):
                subprocess.run([MANUAL, "pages", os.path.join(folder, out)], check=True,
                               capture_output=True)
            subprocess.run(["diff", "-r", "a", "b"], cwd=folder, check=True)

    @unittest.skipUnless("CCC_LIBRARY" in os.environ, "needs CCC_LIBRARY")
    def test_examples_run_and_use_their_names(self):
        coverage = shutil.which("gcc") and shutil.which("gcov")
        paths = sorted(glob.glob(os.path.join(ROOT, examples.FOLDER, "*.c")))
        self.assertGreater(len(paths), 15)
        lines = {}
        with tempfile.TemporaryDirectory() as folder, \
                concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for path, status, errors, ran in pool.map(
                    lambda p: build_and_run(folder, p, coverage), paths):
                self.assertEqual(status, 0, f"{path}: {errors}")
                lines[os.path.relpath(path, ROOT)] = ran
        if coverage:
            self.assert_used(lines)

    def assert_used(self, lines):
        names = {f.name for h in headers.read(ROOT) for f in h.functions}
        names |= {n for h in headers.read(ROOT) for m in h.macros for n in m.names}
        found = examples.read(ROOT, names | {"errno"})
        for name in sorted(names - DECLARE):
            used = examples.THROUGH.get(name, name)
            path = found[name][0]
            with open(os.path.join(ROOT, path), encoding="utf-8") as f:
                uses = [i for i, line in enumerate(f, 1) if re.search(rf"\b{used}\b", line)]
            ran, could = lines[path]
            # A call over several lines counts at one of them.
            self.assertTrue(any(max((n for n in could if n <= i), default=0) in ran or
                                min((n for n in could if n >= i), default=0) in ran for i in uses),
                            f"{path}: no line that uses {name} has run")


if __name__ == "__main__":
    unittest.main()
