"""Sections 1 and 7: pages written in a small part of Markdown.

The first line is `# name - description`.  Then: `## SECTION`, `### Subsection`, paragraphs, lists of
`- ` or `1. `, tables, and fenced code.  A paragraph of `NAME(SECTION)` words under `## SEE ALSO`
becomes references.
"""
import re

import mdoc


def page(name, section, text, date):
    first, rest = text.split("\n", 1)
    short = re.match(r"# \S+ - (.*)", first).group(1)
    lines = [f".Dd {date}", f".Dt {name.upper()} {section}", ".Os libccc",
             ".Sh NAME", f".Nm {name}", f".Nd {mdoc.escape(short)}"]
    fresh = True	# right after a heading, where .Pp has no place
    for block in blocks(rest):
        head = re.match(r"(##+) (.*)", block[0])
        if head:
            lines.append(f"{'.Sh' if len(head.group(1)) == 2 else '.Ss'} {mdoc.escape(head.group(2))}")
            fresh = True
            continue
        lines += one(block, fresh)
        fresh = False
    return "\n".join(lines) + "\n"


def blocks(text):
    """Headings, fenced code, tables, lists and paragraphs, as lists of lines."""
    held, fence = [], False
    for line in text.split("\n") + [""]:
        if line.startswith("<!--") and not fence:
            continue
        if line.startswith("```"):
            if not fence and held:
                yield held
                held = []
            held.append(line)
            fence = not fence
            if not fence:
                yield held
                held = []
        elif fence or line.strip():
            if not fence and line.startswith("#") and held:
                yield held
                held = []
            held.append(line)
            if not fence and line.startswith("#"):
                yield held
                held = []
        elif held:
            yield held
            held = []


def one(block, fresh):
    """A block that is no heading."""
    pp = [] if fresh else [".Pp"]
    if block[0].startswith("```"):
        return mdoc.literal(block[1:-1])
    if block[0].startswith("|"):
        return table(block)
    bullet = re.match(r"(?:- |\d+\. )", block[0])
    if bullet:
        kind = "-bullet" if block[0].startswith("-") else "-enum"
        return [f".Bl {kind}", *[x for e in entries(block) for x in (".It", *mdoc.flow(e, "B"))], ".El"]
    words = " ".join(block).replace(",", " ").split()
    if all(re.fullmatch(r"[\w-]+\(\d\)", w) for w in words):
        links = sorted(((w[-2], w[:-3]) for w in words))
        return [f".Xr {n} {s}" + ("" if i == len(links) - 1 else " ,")
                for i, (s, n) in enumerate(links)]
    return pp + mdoc.flow(" ".join(block), "B")


def entries(block):
    out = []
    for line in block:
        match = re.match(r"(?:- |\d+\. )(.*)", line)
        if match:
            out.append(match.group(1))
        else:
            out[-1] += " " + line.strip()
    return out


def table(block):
    """A table as a list of tagged entries: the first column, and the others as text."""
    rows = [[c.strip() for c in re.split(r"(?<!\\)\|", line.strip().strip("|"))] for line in block]
    heads = rows[0]
    lines = [".Bl -tag -width Ds"]
    for row in rows[2:]:
        lines.append(f".It {mdoc.guarded(mdoc.inline(row[0], 'B'))}")
        for head, cell in zip(heads[1:], row[1:]):
            if cell:
                lines += mdoc.flow(f"{head}: {cell}" if head and len(heads) > 2 else cell, "B")
                if len(heads) > 2 and (head, cell) != (heads[-1], row[-1]):
                    lines.append(".br")
    return lines + [".El"]
