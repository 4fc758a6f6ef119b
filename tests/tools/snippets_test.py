"""snippets_test: every example in the pages below compiles without a warning, with gcc and clang,
as C11 or C++17.  Declarations that all of them use come first."""
import os
import re
import shutil
import subprocess
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
PAGES = ("docs/fibers.md",)

PRELUDE = {
    "c": """#define _GNU_SOURCE
#include <alloca.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/types.h>
#include <unistd.h>
#include <ccc/ccc.h>
""",
    "c++": """#include <cerrno>
#include <exception>
#include <stdexcept>
#include <ccc/ccc.hpp>
""",
}
COMPILERS = {"c": [("gcc", "-std=c11"), ("clang", "-std=c11")],
             "c++": [("g++", "-std=c++17"), ("clang++", "-std=c++17")]}


def snippets(page):
    """Pairs of language and code."""
    with open(os.path.join(ROOT, page), encoding="utf-8") as f:
        return re.findall(r"^```(c|c\+\+)\n(.*?)^```$", f.read(), re.S | re.M)


class SnippetsTest(unittest.TestCase):
    def test_every_example_compiles(self):
        compiled = 0
        for page in PAGES:
            found = snippets(page)
            self.assertGreater(len(found), 10, page)
            for number, (language, code) in enumerate(found, 1):
                for compiler, standard in COMPILERS[language]:
                    if shutil.which(compiler) is None:
                        continue
                    run = subprocess.run(
                        [compiler, standard, "-x", language, "-Wall", "-Wextra", "-Werror",
                         "-Wno-unused-function", "-Wno-unused-variable", "-fsyntax-only",
                         "-I" + os.path.join(ROOT, "include"), "-"],
                        input=PRELUDE[language] + code, text=True, capture_output=True)
                    self.assertEqual(run.returncode, 0, "%s, example %d, %s:\n%s\n%s" % (
                        page, number, compiler, code, run.stderr))
                    compiled += 1
        self.assertGreater(compiled, 0, "no compiler")


if __name__ == "__main__":
    unittest.main()
