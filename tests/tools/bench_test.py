"""bench_test: the table has medians, spreads and ratios of what the programs print, a rival that does not
build is left out with a note, and the picture shows the figures of the file."""
import importlib.machinery
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

# Prints the next figure of its list each time; a case that is not there is na.
PROGRAM = """#!/bin/sh
figures=$(sed -n "s/^$1 //p" "$0.figures")
[ -n "$figures" ] || { echo "{\\"case\\":\\"$1\\",\\"na\\":true}"; exit; }
n=$(($(cat "$0.$1" 2>/dev/null || echo 0) + 1))
echo $n >"$0.$1"
echo "{\\"case\\":\\"$1\\",\\"ops\\":1,\\"ns_per_op\\":$(echo $figures | cut -d' ' -f$n)}"
"""


def load(name):
    path = os.path.join(ROOT, "tools", name)
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


class BenchTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        self.bench, self.plot = load("bench"), load("bench-plot")
        self.bench.say = lambda text: self.said.append(text)
        self.said = []

    def program(self, name, figures):
        path = os.path.join(self.root, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(PROGRAM)
        with open(path + ".figures", "w", encoding="utf-8") as f:
            f.write(figures)
        os.chmod(path, 0o755)
        return path

    def shown(self):
        programs = {"ccc": self.program("ccc", "yield_pair 10 12 11\nselect_2 80 80 80\n"),
                    "go": self.program("go", "yield_pair 33 44 22\n")}
        results = self.bench.measure(programs, ["yield_pair/1", "select_2/2"], 3)
        return {case: {name: self.bench.figures(runs) for name, runs in by_name.items()}
                for case, by_name in results.items()}

    def test_table_has_medians_spreads_and_ratios(self):
        shown = self.shown()
        for cells in shown.values():
            for cell in cells.values():
                if cell:
                    cell["cpus"] = 1.0
        lines = self.bench.table(shown, ["ccc", "go"])
        self.assertRegex(lines[1], r"^yield_pair/1 +11\.0 ±18% +33\.0 ±67% +3\.00x$")
        self.assertRegex(lines[2], r"^select_2/2 +80\.0 ±0% 1\.0 cpu +-$")

    def test_difference_inside_the_noise_is_marked(self):
        ours = {"median": 10.0, "spread": 0.5}
        self.assertEqual(self.bench.ratio(ours, {"median": 14.0, "spread": 0.1}), "~1.40x")
        self.assertEqual(self.bench.ratio(ours, {"median": 16.0, "spread": 0.1}), "1.60x")
        self.assertEqual(self.bench.ratio(ours, {"median": 6.0, "spread": 0.1}), "0.60x")

    def test_rounds_are_interleaved(self):
        self.shown()
        self.assertEqual([re.sub(r", \d+ s left", "", line) for line in self.said[:3]],
                         ["bench: round 1 of 3, yield_pair/1: 1 of 6",
                          "bench: round 1 of 3, select_2/2: 2 of 6",
                          "bench: round 2 of 3, yield_pair/1: 3 of 6"])

    def test_rival_that_does_not_build_is_left_out(self):
        self.bench.RIVALS = {"nonesuch": ("table.go", "its-package", ["no-such-compiler", "{}"])}
        self.assertEqual(self.bench.built(["nonesuch"], self.root), {})
        self.assertIn("nonesuch is left out", self.said[0])
        self.assertIn("its-package", self.said[0])

    def test_program_that_fails_is_told(self):
        with self.assertRaises(RuntimeError):
            self.bench.run("/bin/false", "yield_pair", "1")

    def test_picture_shows_the_figures_of_the_file(self):
        data = {"cpu": "a <cpu>", "processors": 2, "rounds": 3, "date": "2000-01-01",
                "cases": self.shown()}
        source, out = os.path.join(self.root, "a.json"), os.path.join(self.root, "a.svg")
        with open(source, "w", encoding="utf-8") as f:
            json.dump(data, f)
        subprocess.run([os.path.join(ROOT, "tools", "bench-plot"), source, out], check=True)
        picture = xml.dom.minidom.parse(out)
        texts = [node.firstChild.data for node in picture.getElementsByTagName("text")]
        self.assertIn("yield_pair/1", texts)
        self.assertIn("go 3", texts)
        self.assertNotIn("select_2/2", texts)  # no rival has it

    def test_wrong_arguments_are_told(self):
        done = subprocess.run([os.path.join(ROOT, "tools", "bench"), "--rivals", "nonesuch"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)

    def test_cases_are_those_of_the_benchmarks(self):
        tool = load("instructions")
        names = {case[0] for case in tool.CASES} | {"par_fib_25_cut0"}
        for case in self.bench.CASES:
            self.assertIn(case.partition("/")[0], names)


if __name__ == "__main__":
    unittest.main()
