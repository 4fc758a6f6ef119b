"""statistics_test: docs/statistics.md has a row for every field of CCStats, in order, with the
group that the report prints it in, and for every name of the pressure's line."""
import os
import re
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


class StatisticsTest(unittest.TestCase):
    def rows(self):
        return [[cell.strip() for cell in row.split("|")]
                for row in re.findall(r"^\|(.*)\|$", text_of("docs/statistics.md"), re.M)]

    def test_fields(self):
        struct = re.search(r"^typedef struct CCStats \{(.*?)^\}", text_of("include/ccc/stats.h"),
                           re.S | re.M).group(1)
        fields = re.findall(r"^\tu?int64_t (\w+);", struct, re.M)
        listed = [row[0].strip("`") for row in self.rows() if len(row) == 4 and "`" in row[0]]
        self.assertEqual(listed, fields)

    def test_groups(self):
        printed = [(name, group.lower()) for group, name in
                   re.findall(r"FIGURE\((\w+), (\w+)\)", text_of("src/sched/stats.c"))
                   if group != "group"]
        listed = [(row[0].strip("`"), row[2]) for row in self.rows()
                  if len(row) == 4 and "`" in row[0]]
        self.assertEqual(listed, printed)

    def test_pressure(self):
        source = text_of("src/sched/pressure.c")
        printed = re.findall(r'(\w+) %"', source)
        listed = [row[0].strip("`") for row in self.rows() if len(row) == 2 and "`" in row[0]]
        self.assertEqual(listed, printed)


if __name__ == "__main__":
    unittest.main()
