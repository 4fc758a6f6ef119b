"""noise_test: threads are held up, results and errno stay, and what fails is told."""
import os
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

    def test_wrong_arguments(self):
        self.assertEqual(noise(RESULTS, "0")[0], 2)
        self.assertEqual(noise(RESULTS, "1", "no_such_test")[0], 2)


if __name__ == "__main__":
    unittest.main()
