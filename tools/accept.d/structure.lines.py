#!/usr/bin/env python3
"""structure.lines.py REVISION: the code lines of src without src/park, and of the functions inline in
include: `HAD ALL`.  HAD counts the files that REVISION had too, under whatever name (git finds renames);
`-` if that revision is not there.  Comments and blank lines are no code."""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def code(text):
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
    return [line for line in text.split("\n") if line.strip() and not line.strip().startswith("//")]


def inline(lines):
    """The lines of functions that a header defines."""
    count, inside = 0, False
    for line in lines:
        inside = inside or re.match(r"static inline|static __inline", line) is not None
        count += inside
        if line.startswith("}") or line.rstrip().endswith(");"):
            inside = inside and not (line.startswith("}") or "{" not in line)
    return count


def files():
    for top in ("src", "include"):
        for place, _, names in os.walk(os.path.join(ROOT, top)):
            for name in names:
                path = os.path.relpath(os.path.join(place, name), ROOT)
                if name.endswith((".c", ".h", ".S")) and not path.startswith("src/park/"):
                    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
                        lines = code(f.read())
                    yield path, len(lines) if top == "src" else inline(lines)


def added(revision):
    """The files that are new since then; None: git does not know the revision."""
    done = subprocess.run(["git", "-C", ROOT, "diff", "--name-status", "-M30", "-C30", revision, "--", "src", "include"],
                          stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        return None
    return {line.split("\t")[1] for line in done.stdout.splitlines() if line.startswith("A")}


def main():
    counts = dict(files())
    new = added(sys.argv[1])
    had = "-" if new is None else sum(n for path, n in counts.items() if path not in new)
    print(had, sum(counts.values()))


if __name__ == "__main__":
    main()
