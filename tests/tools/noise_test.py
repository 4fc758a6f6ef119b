"""noise_test: threads are held up, results and errno stay, and what fails is told."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
NOISE = os.path.join(ROOT, "tools", "noise")

# Fails if a hundred looks at the clock take long.
HURRIED = r"""
#include <stdio.h>
#include <time.h>
int main(void)
{
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int i = 0; i < 100; i++)
		clock_gettime(CLOCK_MONOTONIC, &b);
	if (b.tv_sec - a.tv_sec + (b.tv_nsec - a.tv_nsec) / 1e9 < 0.05)
		return 0;
	printf("here: failed: too slow\nFAIL  hurried\n");
	return 1;
}
"""
# Looks at the clock until it has been held up, and fails then; for half a minute.
HELD = r"""
#include <stdio.h>
#include <time.h>
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}
int main(void)
{
	const double start = now();

	for (double before = start, at; (at = now()) - start < 30; before = at)
		if (at - before > 0.003) {
			printf("here: failed: held up\nFAIL  held\n");
			return 1;
		}
	return 0;
}
"""
RESULTS = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <unistd.h>
#include <sys/syscall.h>
int main(void)
{
	char c;
	int p[2];

	for (int i = 0; i < 20; i++) {
		errno = 7;
		if (getpid() != syscall(SYS_getpid) || errno != 7)
			return 1;
		if (read(-1, &c, 1) != -1 || errno != EBADF)
			return 2;
		if (syscall(-1L) != -1 || errno != ENOSYS)
			return 3;
		if (pipe(p) != 0 || write(p[1], "x", 1) != 1 || read(p[0], &c, 1) != 1 || c != 'x')
			return 4;
	}
	return 0;
}
"""


def noise(source, *args):
    """Status and output, for a build with this one test."""
    with tempfile.TemporaryDirectory() as build:
        os.mkdir(os.path.join(build, "tests"))
        subprocess.run(["cc", "-o", os.path.join(build, "tests", "one_test"), "-xc", "-"],
                       input=source, text=True, check=True)
        done = subprocess.run([sys.executable, NOISE, "--build", build, *args],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


class RecordTree:
    """A tree with the tool and test programs of its own."""

    def __init__(self, test):
        folder = tempfile.TemporaryDirectory()
        test.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name in ("tools/noise", "tests/noise/noise.c", "tests/noise/stop.c",
                     "tests/noise/passed.txt"):
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            shutil.copy(os.path.join(ROOT, name), self.path(name))
        with open(self.path("tests/noise/passed.txt"), encoding="utf-8") as f:
            head = [line for line in f if line.startswith("#")]
        self.write("tests/noise/passed.txt", "".join(head))
        os.makedirs(self.path("build/test/tests"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)

    def run(self, *args):
        done = subprocess.run([sys.executable, self.path("tools/noise"), *args],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()

    def record(self, *args):
        unit = self.path("tests/unit")
        for name in os.listdir(unit):
            subprocess.run(["cc", "-o", self.path("build/test/tests/" + name[:-2]),
                            os.path.join(unit, name)], check=True)
        return self.run("--record", *args)

    def unproven(self):
        return self.run("--unproven")


class NoiseTest(unittest.TestCase):
    def test_threads_are_held_up(self):
        status, text = noise(HURRIED, "--odds", "1", "--seed", "5", "2")
        self.assertEqual(status, 1)
        self.assertIn("one_test --seed 5:\n    here: failed: too slow\n    FAIL  hurried\n", text)
        self.assertIn("one_test --seed 6:", text)
        self.assertRegex(text, r"one_test +2 runs +2 failed")

    def test_results_stay(self):
        status, text = noise(RESULTS, "--odds", "1", "3")
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"one_test +3 runs +0 failed")

    def test_threads_are_stopped(self):
        status, text = noise(HELD, "--stop", "2")
        self.assertEqual(status, 1)
        self.assertRegex(text, r"one_test +2 runs +2 failed")
        status, text = noise(RESULTS, "--stop", "3")
        self.assertEqual(status, 0, text)

    def test_what_passed_is_recorded_until_the_source_changes(self):
        tree = RecordTree(self)
        tree.write("tests/unit/one_test.c", "int main(void) { return 0; }\n")
        tree.write("tests/unit/two_test.c", "int main(void) { return 1; }\n")
        self.assertEqual(tree.unproven(), (1, ["one_test: never recorded",
                                               "two_test: never recorded", "0 of 2 proven"]))
        self.assertEqual(tree.record("30")[0], 1)
        one = "one_test: stop 0 of 30, one-cpu 0 of 30, aarch64 0 of 30"
        self.assertEqual(tree.unproven()[1][:2], [one, "two_test: never recorded"])
        tree.record("--one-cpu", "2", "one")
        self.assertIn("one-cpu 2 of 30", tree.unproven()[1][0])
        # A shorter run takes nothing back.
        tree.record("1", "one")
        self.assertNotIn(" noise ", " " + tree.unproven()[1][0])
        with open(tree.path("tests/noise/passed.txt"), encoding="utf-8") as f:
            line = f.read().split("\n")[-2]
        self.assertRegex(line, r"^one_test \w{12} \d{4}-\d\d-\d\d noise=30 one-cpu=2$")
        tree.write("tests/noise/passed.txt", line.replace("one-cpu=2", "aarch64=30 one-cpu=31 stop=30"))
        self.assertEqual(tree.unproven()[1], ["two_test: never recorded", "1 of 2 proven"])
        tree.write("tests/unit/one_test.c", "int main(void) { return 0; }  /* other */\n")
        self.assertRegex(tree.unproven()[1][0], r"^one_test: changed since \d{4}-")
        # What it passed as another program does not count.
        tree.record("--stop", "1", "one")
        self.assertEqual(tree.unproven()[1][0],
                         "one_test: noise 0 of 30, stop 1 of 30, one-cpu 0 of 30, aarch64 0 of 30")
        os.remove(tree.path("tests/unit/two_test.c"))
        self.assertEqual(tree.unproven()[0], 1)

    def test_all_proven(self):
        tree = RecordTree(self)
        self.assertEqual(tree.unproven(), (0, ["0 of 0 proven"]))

    def test_wrong_arguments(self):
        self.assertEqual(noise(RESULTS, "0")[0], 2)
        self.assertEqual(noise(RESULTS, "1", "no_such_test")[0], 2)


if __name__ == "__main__":
    unittest.main()
