"""once_test: every macro of the public headers that takes arguments has a row in
tests/unit/typed_once_test.c, where an argument that is evaluated twice fails a test."""
import glob
import os
import re
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
ROWS = os.path.join(ROOT, "tests", "unit", "typed_once_test.c")
# These make declarations: their arguments are names and types, which are not evaluated.
DECLARE = {"cc_task_fn", "cc_task_decl", "cc_task_def", "cc_chan_type", "cc_serve_fn", "cc_par_fn",
           "cc_par_decl", "cc_par_def", "cc_range_fn", "cc_fold_fn", "cc_join_fn",
           "cc_chan_make_watch"}
# An argument with a side effect (next_error counts its calls).
COUNTS = re.compile(r"\+\+|--|next_error\(")


def macros_of(text):
    """Names of the macros that a program calls: those in lower case that take arguments."""
    named = re.findall(r"^#define (cc_\w+)\(([^)]*)\)", text, re.M)
    return {name for name, arguments in named if arguments.strip()}


def calls_of(text, name):
    """The arguments of each call, to its closing parenthesis."""
    for call in re.finditer(r"\b%s\(" % name, text):
        depth, at = 1, call.end()
        while depth > 0 and at < len(text):
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        yield text[call.end():at - 1]


def without_row(macros, rows):
    return {name for name in macros - DECLARE
            if not any(COUNTS.search(arguments) for arguments in calls_of(rows, name))}


class OnceTest(unittest.TestCase):
    def test_every_macro_has_a_row(self):
        macros = set()
        for path in glob.glob(os.path.join(ROOT, "include", "ccc", "*.h")):
            with open(path, encoding="utf-8") as file:
                macros |= macros_of(file.read())
        self.assertGreater(len(macros), 30)
        self.assertLessEqual(DECLARE, macros)
        with open(ROWS, encoding="utf-8") as file:
            missing = without_row(macros, file.read())
        self.assertEqual(missing, set(), "no row in tests/unit/typed_once_test.c")

    def test_a_macro_without_a_row_is_found(self):
        header = "#define cc_one(x) f(x)\n#define cc_none() g()\n#define cc_two(a, ...) \\\n\th(a)\n"
        macros = macros_of(header)
        self.assertEqual(macros, {"cc_one", "cc_two"})
        self.assertEqual(without_row(macros, "cc_one(v[i++]); cc_two(a, f(b));"), {"cc_two"})
        self.assertEqual(without_row(macros, "cc_one(v); cc_two(a,\n  f(b--));"), {"cc_one"})


if __name__ == "__main__":
    unittest.main()
