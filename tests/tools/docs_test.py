"""docs_test: what the documentation shows is what the programs beside it have, and all of that works
with the library as it is installed (tests/docs/run.py)."""
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
# Every example of these pages comes from a program.
PAGES = ["docs/tutorial.md", "docs/cookbook.md", "docs/man7/*.md"]


def text_of(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


class DocsTest(unittest.TestCase):
    def test_pages_show_what_the_programs_have(self):
        run = subprocess.run([os.path.join(ROOT, "tools/manual"), "filled"], text=True,
                             capture_output=True, check=False)
        self.assertEqual(run.returncode, 0, "tools/manual fill is needed:\n" + run.stdout + run.stderr)
        for pattern in PAGES:
            for path in glob.glob(os.path.join(ROOT, pattern)):
                text = text_of(path)
                alone = re.findall(r"(?<!-->\n)^```c\n", text, re.M)
                self.assertEqual(alone, [], f"{path}: an example that comes from no program")

    def test_every_recipe_and_step_is_on_its_page(self):
        for folder, page in (("tutorial", "docs/tutorial.md"), ("cookbook", "docs/cookbook.md")):
            text = text_of(os.path.join(ROOT, page))
            for path in glob.glob(os.path.join(ROOT, "docs", folder, "*.c")):
                self.assertIn(f"<!-- from docs/{folder}/{os.path.basename(path)}", text)

    @unittest.skipUnless("CCC_LIBRARY" in os.environ, "needs CCC_LIBRARY")
    def test_installed_documentation_works(self):
        build = os.path.dirname(os.environ["CCC_LIBRARY"])
        with tempfile.TemporaryDirectory() as prefix:
            subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True,
                           capture_output=True)
            lib = glob.glob(prefix + "/lib*/**/pkgconfig", recursive=True)[0]
            environment = dict(os.environ, PKG_CONFIG_PATH=lib,
                               LD_LIBRARY_PATH=os.path.dirname(lib),
                               PATH=f"{prefix}/bin:{os.environ['PATH']}")
            doc = glob.glob(prefix + "/share/doc/*")[0]

            def part(*names):
                return subprocess.run([sys.executable, os.path.join(ROOT, "tests/docs/run.py"), doc,
                                       *names], text=True, capture_output=True, env=environment,
                                      check=False)

            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                for run in (pool.submit(part, "commands", "tutorial", "overview"),
                            pool.submit(part, "cookbook", "examples")):
                    self.assertEqual(run.result().returncode, 0,
                                     run.result().stdout + run.result().stderr)


if __name__ == "__main__":
    unittest.main()
