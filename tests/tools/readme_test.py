"""readme_test: the example of README.md compiles without a warning and prints what
it says, and README names no file that is not there."""
import glob
import os
import platform
import re
import subprocess
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as f:
    README = f.read()


class ReadmeTest(unittest.TestCase):
    def test_example_prints_what_it_says(self):
        code = re.search(r"```c\n(.*?)```", README, re.S).group(1)
        expected = re.search(r"printf.*/\* (\d+) \*/", code).group(1)
        with tempfile.TemporaryDirectory() as folder:
            source, program = (os.path.join(folder, n) for n in ("example.c", "example"))
            with open(source, "w", encoding="utf-8") as f:
                f.write(code)
            cc = [os.environ.get("CC", "cc"), "-O1", "-I" + os.path.join(ROOT, "include")]
            subprocess.run(cc + ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c",
                                 source, "-o", program + ".o"], check=True)
            # (The library of the build whose test this is; without one, from its sources.)
            library = [os.environ["CCC_LIBRARY"]] if "CCC_LIBRARY" in os.environ else (
                glob.glob(os.path.join(ROOT, "src", "*", "*.c")) +
                glob.glob(os.path.join(ROOT, "src", "os", "*%s.S" % platform.machine())))
            subprocess.run(cc + ["-D_GNU_SOURCE", "-I" + os.path.join(ROOT, "src"),
                                 program + ".o", *library, "-pthread", "-o", program], check=True)
            run = subprocess.run([program], capture_output=True, text=True, timeout=60)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stdout.strip(), expected)

    def test_files_exist(self):
        named = set(re.findall(r"`((?:src|tests|docs|tools|examples)/[\w./-]*)`", README))
        self.assertGreater(len(named), 5)
        for path in named:
            self.assertTrue(os.path.exists(os.path.join(ROOT, path)), path)


if __name__ == "__main__":
    unittest.main()
