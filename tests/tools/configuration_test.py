"""configuration_test: docs/configuration.md lists every environment variable that src/
reads, every field of CCConfig and every build option that sets a default, and no other."""
import glob
import os
import re
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def column(number):
    """The names in one column of the table."""
    rows = re.findall(r"^\|(.*)\|$", text_of("docs/configuration.md"), re.M)[2:]
    return re.findall(r"`(\w+)`", "\n".join(row.split("|")[number] for row in rows))


class ConfigurationTest(unittest.TestCase):
    def same(self, listed, there):
        self.assertEqual(sorted(listed), sorted(set(there)))
        self.assertGreater(len(listed), 2)

    def test_environment(self):
        sources = "".join(text_of(path) for path in
                          glob.glob(os.path.join(ROOT, "src", "**", "*.[ch]"), recursive=True))
        for argument in re.findall(r"\bgetenv\(([^)]*)\)", sources):
            self.assertRegex(argument, r'^("CC_\w+"|v->name)$')    # v: the table's
        self.same(column(1), re.findall(r'(?:\bgetenv\(|^ *\{)"(CC_\w+)"[,)]', sources, re.M))

    def test_fields(self):
        struct = re.search(r"^typedef struct CCConfig \{(.*?)^\}", text_of("include/ccc/runtime.h"),
                           re.S | re.M).group(1)
        struct = re.sub(r"/\*.*?\*/", "", struct, flags=re.S)
        self.same(column(0), re.findall(r"(\w+)(?:\)\(.*\))?;", struct))

    def test_build_options(self):
        self.same(column(2), re.findall(r"^set\((CC_\w+) .* CACHE", text_of("CMakeLists.txt"), re.M))


if __name__ == "__main__":
    unittest.main()
