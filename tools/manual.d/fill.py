"""Code in Markdown that stands in a program of the tree.

    <!-- from docs/cookbook/retry.c: retry is_temporary -->

is followed by a fenced block with these definitions of the file, in its order; without names, by all of
the file but its first comment.  `tools/manual fill` writes the blocks anew.
"""
import os
import re

import examples

BLOCK = re.compile(r"(<!-- from (\S+?)(?:: ([^>]*?))? -->\n)(?:```c\n.*?^```\n)?", re.S | re.M)


def code_of(root, path, names):
    if not names:
        with open(os.path.join(root, path), encoding="utf-8") as f:
            return re.sub(r"\A/\*.*?\*/\n", "", f.read(), flags=re.S).strip("\n")
    pieces = examples.pieces_of(os.path.join(root, path))
    lack = set(names) - {p.name for p in pieces}
    if lack:
        raise SystemExit(f"{path}: no definition of {', '.join(sorted(lack))}")
    return "\n\n".join("\n".join(p.lines) for p in pieces if p.name in names)


def filled(root, text):
    return BLOCK.sub(lambda m: f"{m.group(1)}```c\n"
                     f"{code_of(root, m.group(2), (m.group(3) or '').split())}\n```\n", text)


def pages(root):
    for folder, _, names in os.walk(os.path.join(root, "docs")):
        for name in sorted(names):
            if name.endswith(".md"):
                yield os.path.join(folder, name)


def fill(root, write):
    """The pages whose blocks are not what stands in the programs; with `write` they are mended."""
    changed = []
    for path in pages(root):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        new = filled(root, text)
        if new != text:
            changed.append(os.path.relpath(path, root))
            if write:
                with open(path, "w", encoding="utf-8") as f:
                    f.write(new)
    return changed
