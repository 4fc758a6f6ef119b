"""glossary_test: each row of docs/glossary.md has a term, a meaning and a file that exists, and no
term is defined twice."""
import os
import re
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
PAGE = os.path.join(ROOT, "docs", "glossary.md")


class GlossaryTest(unittest.TestCase):
    def setUp(self):
        with open(PAGE, encoding="utf-8") as f:
            rows = re.findall(r"^\|(.*)\|$", f.read(), re.M)
        cells = [[cell.strip() for cell in row.split("|")] for row in rows]
        self.rows = [row for row in cells if row[0] != "term" and set(row[0]) != {"-"}]
        self.assertGreater(len(self.rows), 50)

    def test_each_file_exists(self):
        for row in self.rows:
            with self.subTest(row=row[0]):
                self.assertEqual(len(row), 3)
                self.assertNotEqual(row[1], "")
                self.assertRegex(row[2], r"^`[\w./-]+`$")
                self.assertTrue(os.path.isfile(os.path.join(ROOT, row[2].strip("`"))), row[2])

    def test_no_term_is_defined_twice(self):
        terms = [term for row in self.rows for term in row[0].split(", ")]
        self.assertEqual(sorted(terms), sorted(set(terms)))


if __name__ == "__main__":
    unittest.main()
