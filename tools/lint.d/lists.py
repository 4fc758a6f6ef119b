"""What stood in the tree when a rule came.

A list is a file ROOT/tools/lint.d/NAME.txt with one entry a line: a key, and what the rule
wants to know about it.  Lines that begin with # are comments.  A list may only shrink: more
than it says fails, less prints a hint to take the entry out."""
import os


class List:
    def __init__(self, root, name):
        self.path, self.entries, self.used = f"tools/lint.d/{name}.txt", {}, set()
        try:
            with open(os.path.join(root, self.path), encoding="utf-8") as f:
                lines = f.read().split("\n")
        except FileNotFoundError:
            lines = []
        for line in lines:
            if line.strip() and not line.startswith("#"):
                key, _, rest = line.partition(" ")
                self.entries[key] = rest.strip()

    def has(self, key):
        self.used.add(key)
        return key in self.entries

    def number(self, key):
        self.used.add(key)
        return int(self.entries.get(key) or 0)

    def unused(self):
        return sorted(key for key in self.entries if key not in self.used)
