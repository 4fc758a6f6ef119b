"""blocking_test: docs/blocking-calls.md agrees with the headers and the tests, and tools/blocking
notices what is missing: a row, a cell, a test, a function."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
PAGE = "docs/blocking-calls.md"


class BlockingTest(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp()
        for part in ("include/ccc", "tests/unit"):
            shutil.copytree(os.path.join(ROOT, part), os.path.join(self.root, part))
        os.mkdir(os.path.join(self.root, "docs"))
        shutil.copy(os.path.join(ROOT, PAGE), os.path.join(self.root, PAGE))

    def tearDown(self):
        shutil.rmtree(self.root)

    def run_tool(self):
        done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "blocking"), self.root],
                              stdout=subprocess.PIPE, universal_newlines=True, check=False)
        return done.returncode, done.stdout

    def change(self, path, old, new):
        path = os.path.join(self.root, path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertIn(old, text)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))

    def caught(self, what):
        code, text = self.run_tool()
        self.assertEqual(code, 1, text)
        self.assertIn(what, text)

    def test_the_page_is_complete(self):
        self.assertEqual(self.run_tool()[0], 0, self.run_tool()[1])

    def test_a_missing_row(self):
        self.change(PAGE, "| `cc_token_wait` |", "| token |")
        self.caught("cc_token_wait takes a deadline")

    def test_a_missing_form_of_a_row(self):
        self.change(PAGE, "`cc_mutex_lock`, ", "")
        self.caught("cc_mutex_lock")

    def test_a_call_that_says_nothing(self):
        self.change("include/ccc/fd.h", "/* Closes `fd`",
                    "/* Sits there. */\nCC_API int cc_fd_ponder(int fd);\n/* Closes `fd`")
        self.caught("cc_fd_ponder is no row")

    def test_a_new_call_with_a_deadline(self):
        self.change("include/ccc/fd.h", "CC_API int cc_fd_close(",
                    "CC_API int cc_fd_ponder(int fd,\n                         cc_time deadline);\n"
                    "CC_API int cc_fd_close(")
        self.caught("cc_fd_ponder takes a deadline")

    def test_a_new_call_that_may_park(self):
        self.change("include/ccc/fd.h", "/* Closes `fd`",
                    "/* Sits there.  Any thread.  May park. */\nCC_API int cc_fd_ponder(int fd);\n"
                    "/* Closes `fd`")
        self.caught("cc_fd_ponder its comment says")

    def test_a_row_without_its_function(self):
        self.change(PAGE, "| `cc_token_wait` |", "| `cc_token_wait`, `cc_token_watch` |")
        self.caught("there is no cc_token_watch")

    def test_a_cell_without_a_test(self):
        self.change(PAGE, "`once_ends_when_cancelled`", "yes")
        self.caught("a cell names no test")

    def test_an_exception_without_a_reason(self):
        self.change(PAGE, "`once_ends_when_cancelled`", "not:")
        self.caught("an exception without a reason")

    def test_a_test_that_is_not_there(self):
        self.change("tests/unit/blocking_calls_test.c", "EXCEPT_ITS_DEADLINE(once,",
                    "EXCEPT_ITS_DEADLINE(twice,")
        self.caught("there is no test once_ends_when_cancelled")

    def test_a_test_of_another_program(self):
        self.change("tests/unit/join_scope_test.c",
                    "TEST(failing_sibling_ends_the_join_of_an_unstarted_task)", "TEST(other)")
        self.caught("failing_sibling_ends_the_join_of_an_unstarted_task in tests/unit/join_scope")


if __name__ == "__main__":
    unittest.main()
