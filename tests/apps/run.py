"""run: what the tests of the tools share: a directory for each test, and runs of a program."""
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

TIMEOUT = 60 * int(os.environ.get("TEST_TIMEOUT", "1"))     # seconds that one run may take
PROGRAM = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""


def need(*commands):
    """Skips a test whose commands are not there."""
    missing = [c for c in commands if shutil.which(c) is None]
    return unittest.skipIf(missing, f"no {' '.join(missing)}")


def mixed(length, seed=1):
    """Text with repetitions and some noise, the same each time."""
    rng = random.Random(seed)
    words = [rng.randbytes(rng.randint(2, 9)).hex().encode() for _ in range(500)]
    parts, have = [], 0
    while have < length:
        part = rng.randbytes(2000) if rng.random() < 0.2 else b" ".join(rng.choices(words, k=400))
        parts.append(part)
        have += len(part)
    return b"".join(parts)[:length]


class AppTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="ccc-app-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.dir, name)

    def put(self, name, data):
        with open(self.path(name), "wb") as f:
            f.write(data)
        return self.path(name)

    def get(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def names(self):
        return sorted(os.listdir(self.dir))

    def run_program(self, *args, stdin=b"", program=None, **options):
        """The finished process, with what it printed as bytes."""
        return subprocess.run([program or PROGRAM, *args], input=stdin, cwd=self.dir,
                              capture_output=True, timeout=TIMEOUT, check=False, **options)

    def check(self, *args, status=0, error=None, stdin=b"", **options):
        """Runs the program; its status and its messages are as said.  Returns its output."""
        done = self.run_program(*args, stdin=stdin, **options)
        text = done.stderr.decode(errors="replace")
        self.assertEqual(done.returncode, status, f"{args}: {text}")
        if error is None:
            self.assertEqual(text, "", args)
        else:
            self.assertRegex(text, error)
        return done.stdout


def main():
    if not PROGRAM:
        sys.exit(f"usage: {sys.argv[0]} PROGRAM [TEST...]")
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
