"""ccc-trace_test PROGRAM: traces that the examples of the same build write are valid and say what
happened; the summary of ccc-trace is that of the trace; docs/tracing.md shows what it prints."""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "ccc-trace"
EXAMPLES = os.path.join(os.path.dirname(PROGRAM), "..", "examples")
CHECK = os.path.join(ROOT, "tools", "trace-json-check")


def run(command, **environment):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, **environment})


class TraceTest(unittest.TestCase):
    def setUp(self):
        if not os.path.exists(os.path.join(EXAMPLES, "pipeline")):
            self.skipTest("the examples are not built")
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def record(self, example, workers, **more):
        path = self.path("%s.%d" % (example, workers))
        done = run([os.path.join(EXAMPLES, example)], CC_TRACE=path, CC_WORKERS=str(workers), **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def summary(self, path):
        done = run([PROGRAM, "summary", path])
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_traces_of_examples_are_valid(self):
        paths = [self.record(example, workers) for workers in (1, 2, 8) for example in
                 ("hello", "fan_out", "pipeline", "echo_server", "timeout", "worker_pool",
                  "cancel_cleanup", "ordered_map", "race")]
        checked = run([CHECK, *paths])
        self.assertEqual(checked.returncode, 0, checked.stdout)
        self.assertEqual(len(re.findall(" 0 lost, 0 problems", checked.stdout)), len(paths))

    def test_trace_that_wraps_is_valid(self):
        path = self.record("pipeline", 2, CC_TRACE_EVENTS="64")
        checked = run([CHECK, path])
        self.assertEqual(checked.returncode, 0, checked.stdout)
        with open(path, encoding="utf-8") as f:
            self.assertGreater(json.load(f)["otherData"]["lost"], 0)
        self.assertIn("earlier events were lost", self.summary(path))

    def test_trace_says_what_tasks_waited_for(self):
        with open(self.record("echo_server", 2), encoding="utf-8") as f:
            trace = json.load(f)
        waits = collections.Counter(e["name"] for e in trace["traceEvents"]
                                    if e["ph"] == "X" and e["cat"] == "parked")
        self.assertGreater(waits["descriptor"], 20)
        self.assertGreaterEqual(waits["nursery"], 1)
        self.assertEqual(waits["other"], 0)

    def test_checker_finds_mistakes(self):
        path = self.record("pipeline", 1)
        with open(path, encoding="utf-8") as f:
            trace = json.load(f)
        events = trace["traceEvents"]
        runs = [e for e in events if e["ph"] == "X" and e["name"] == "run"]

        def broken(change):
            copy = json.loads(json.dumps(trace))
            change(copy["traceEvents"])
            with open(path, "w", encoding="utf-8") as f:
                json.dump(copy, f)
            return run([CHECK, path]).stdout

        self.assertIn(": flow: ", broken(
            lambda e: e.remove(next(x for x in e if x["ph"] == "f"))))
        self.assertIn(": nesting: ", broken(lambda e: e.append(runs[0])))
        self.assertIn(": time: ", broken(lambda e: e.append({**runs[0], "dur": -1})))
        self.assertIn(": track: ", broken(lambda e: e.append({**runs[0], "tid": 10 ** 9})))
        with open(path, "w", encoding="utf-8") as f:
            f.write(json.dumps(trace)[:-2])
        self.assertIn(": json: ", run([CHECK, path]).stdout)

    def test_summary_is_that_of_the_trace(self):
        path = self.record("pipeline", 2)
        with open(path, encoding="utf-8") as f:
            trace = json.load(f)
        text = self.summary(path)
        slices = [e for e in trace["traceEvents"] if e["ph"] == "X"]
        for name in ("run", "queued", "channel"):
            times = sum(e["pid"] == 2 and e["name"] == name for e in slices)
            row = "parked: channel" if name == "channel" else name
            self.assertRegex(text, r"\n  %s +\S+ \S+ +\S+ %% +%d times\n" % (row, times))
        woken = sorted(e["dur"] for e in slices if e["cat"] == "woken")
        self.assertIn("  %d times: p50 " % len(woken), text)
        longest = max((e for e in slices if e["cat"] == "parked"), key=lambda e: e["dur"])
        first = re.search(r"longest waits\n +([\d.]+) (us|ms|s) ", text)
        unit = {"us": 1, "ms": 1000, "s": 1000000}[first.group(2)]
        self.assertAlmostEqual(float(first.group(1)) * unit, longest["dur"], delta=0.06 * unit)

    def test_wrong_files_are_refused(self):
        path = self.path("wrong")
        for text, message in (("{", "was expected"), ("{}", "not a trace that libccc"),
                              ('{"traceEvents":[{"ph":"X",}]}', "was expected"), ("", "was expected"),
                              ("[" * 100000, "was expected")):
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            done = run([PROGRAM, "summary", path])
            self.assertEqual(done.returncode, 1)
            self.assertIn(message, done.stderr)
        self.assertEqual(run([PROGRAM, "summary", self.path("none")]).returncode, 1)
        self.assertEqual(run([PROGRAM]).returncode, 2)

    def test_file_name_has_the_process_number(self):
        done = run([os.path.join(EXAMPLES, "hello")], CC_TRACE=self.path("%p.json"))
        self.assertEqual(done.returncode, 0)
        self.assertRegex(" ".join(os.listdir(self.folder.name)), r"^\d+\.json$")

    def test_variables_that_make_no_sense_are_told(self):
        hello = os.path.join(EXAMPLES, "hello")
        done = run([hello], CC_TRACE=self.path("no/where"))
        self.assertIn("is not a file that can be written", done.stderr)
        done = run([hello], CC_TRACE_EVENTS="7")
        self.assertIn("is not a number of events", done.stderr)

    def test_document_shows_what_is_printed(self):
        """The numbers differ from run to run, and so does what tasks wait for; the lines do not."""
        with open(os.path.join(ROOT, "docs", "tracing.md"), encoding="utf-8") as f:
            shown = re.search(r"\$ ccc-trace summary \S+\n(.*?)```", f.read(), re.S).group(1)

        def shape(text):
            text = text.split("longest waits")[0]
            text = re.sub(r"parked: \w+", "parked: REASON", text)
            return {re.sub(r"\s+", " ", re.sub(r"[\d.]+ (us|ms|s)\b|[\d.]+", "N", line)).strip()
                    for line in text.split("\n")}

        self.assertEqual(shape(shown), shape(self.summary(self.record("echo_server", 2))))


if __name__ == "__main__":
    unittest.main()
