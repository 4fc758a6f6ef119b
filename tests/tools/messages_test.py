"""messages_test: docs/messages.md has every message of the library, and none that it does not write.

A message is compared by its constant parts: the first text between conversions of printf in the sources,
and all texts between `…` on the page."""
import glob
import os
import re
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
PAGE = os.path.join(ROOT, "docs", "messages.md")
STRING = r'"((?:[^"\\]|\\.)*)"'
# Texts of an invariant begin with its id, or name the word's module.
INVARIANT = re.compile(r"^([A-Z][A-Z0-9]*-?\d+|word): ")


def joined(source):
    """Adjacent literals as one, macros of texts and of formats replaced."""
    macros = dict(re.findall(r'^#define (\w+)\s*\\?\n?\s*' + STRING + r'\s*$', source, re.M))
    for name, text in macros.items():
        source = re.sub(r'(?<=" )' + name + r'\b', lambda _, t=text: f'"{t}"', source)
    source = re.sub(r'"\s*PRI\w+\s*"', "u", source)
    source = re.sub(r'"\s*PRI\w+', 'u"', source)
    return re.sub(r'(?<!\\)"\s*\n?\s*"', "", source)


def parts(text, between):
    """Constant parts that are long enough to tell a message."""
    pieces = re.split(between, text.replace("\\n", ""))
    return [p.strip(" '(;:,") for p in pieces if len(re.sub(r"[^a-z]", "", p)) >= 6]


def calls(path, source):
    """The first texts of calls that write a message."""
    found = []
    if path.endswith("monitor/verdict.c"):
        found += [text for text in re.findall(STRING, source)
                  if len(text) > 40 and not text.startswith("libccc: ")]
    for literal in re.findall(STRING, source):
        if literal.startswith("libccc: "):
            found.append(literal[len("libccc: "):])
    for name in (r"\bsay\(s, ", r"\bCC__CHECK\((?:[^;\"]|\n)*?, ", r"\bcc__panic\(__FILE__, __LINE__, ",
                 r"remedy\(.*?\n(?:[^}]*?return )"):
        found += re.findall(name + STRING, source)
    return found


class MessagesTest(unittest.TestCase):
    def setUp(self):
        self.sources = {}
        for path in glob.glob(os.path.join(ROOT, "src", "**", "*.[ch]"), recursive=True):
            with open(path, encoding="utf-8") as f:
                source = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
            self.sources[os.path.relpath(path, ROOT)] = joined(source)
        with open(PAGE, encoding="utf-8") as f:
            self.page = f.read()
        self.rows = re.findall(r"^\| `([^`]*)` \|", self.page, re.M)
        self.assertGreater(len(self.rows), 30)

    def test_every_message_is_on_the_page(self):
        shown = re.sub(r"\s+", " ", self.page)
        count = 0
        for path, source in sorted(self.sources.items()):
            for text in calls(path, source):
                if INVARIANT.match(text):
                    continue
                for part in parts(text, r"%[-+ #0-9.*]*(?:hh|h|ll|l|z|j|t)?[a-zA-Z]")[:1]:
                    count += 1
                    with self.subTest(file=path, message=text):
                        self.assertIn(part, shown)
        self.assertGreater(count, 30)

    def test_every_message_of_the_page_is_in_the_sources(self):
        everything = "\n".join(self.sources.values())
        for row in self.rows:
            for part in parts(row.removeprefix("deadlock: "), "…"):
                with self.subTest(message=row):
                    self.assertIn(part, everything)


if __name__ == "__main__":
    unittest.main()
