"""The example of each page: a function of a program in docs/man3.examples that uses the name, with
what it needs of the same file."""
import os
import re

FOLDER = "docs/man3.examples"
HEAD = re.compile(r"^(?:int (main)\(|static cc_(?:task|par|range|fold|join|serve)_fn\((\w+)|"
                  r"cc_(?:task|par)_(?:decl|def)\((\w+)|cc_chan_type\((\w+)|(?:static )?struct (\w+) \{|"
                  r"static (?:\w+ )+\*?(\w+)(?:\[\w*\])?(?: =.*)?;|static\b[^;={]*?\b(\w+)\s*\()")
# The library's own part of a macro, or a form for wrappers: the program writes what stands behind.
THROUGH = {
    "cc_match_begin": "cc_match", "cc_match_listing": "cc_match", "cc_match_list": "cc_match",
    "cc_match_chosen": "cc_match", "cc_match_chan": "cc_match", "cc_match_next": "cc_match",
    "cc_match_list_closed": "cc_match", "cc_match_closed": "cc_match",
    "cc_nursery_scope_begin": "cc_nursery_scope", "cc_nursery_scope_end": "cc_nursery_scope",
    "cc_chan_new_ordered": "cc_chan_make_ordered", "cc_arena_refill": "cc_arena_take",
    "cc_branch_offer": "cc_par2", "cc_branch_retract": "cc_par2", "cc_branch_join": "cc_par2",
    "cc_par_run2": "cc_par2", "cc_par_outer2": "cc_par2", "cc_par_call2": "cc_par2",
    "cc_par_context": "cc_par2", "cc_errno_location": "errno",
}


class Piece:
    """A definition of an example with the comment before it."""

    def __init__(self, name, start, lines):
        self.name, self.start, self.lines = name, start, lines
        self.text = "\n".join(lines)
        self.words = set(re.findall(r"\w+", re.sub(r"/\*.*?\*/", "", self.text, flags=re.S)))


def pieces_of(path):
    """The definitions of a file, in order."""
    with open(path, encoding="utf-8") as f:
        lines = f.read().split("\n")
    out, i = [], 0
    while i < len(lines):
        match = HEAD.match(lines[i])
        if not match:
            i += 1
            continue
        end = i
        if not lines[i].rstrip().endswith(";"):
            while end < len(lines) and not re.match(r"\}", lines[end]):
                end += 1
        first = i
        while first > 0 and re.match(r"(/\*| \*)", lines[first - 1]):
            first -= 1
        out.append(Piece(next(g for g in match.groups() if g), i + 1, lines[first:end + 1]))
        i = end + 1
    return out


def closure(piece, pieces):
    """The piece and what it needs, in the order of the file."""
    wanted, todo = {piece.name}, [piece]
    while todo:
        words = todo.pop().words
        for other in pieces:
            names = {other.name, other.name + "Tx", other.name + "Rx"}
            if other.name not in wanted and names & words:
                wanted.add(other.name)
                todo.append(other)
    return [p for p in pieces if p.name in wanted]


def read(root, names):
    """name -> (path, lines): of all pieces that use the name the one with the shortest example."""
    found = {}
    folder = os.path.join(root, FOLDER)
    for file in sorted(os.listdir(folder)):
        if not file.endswith(".c"):
            continue
        path = f"{FOLDER}/{file}"
        pieces = pieces_of(os.path.join(root, path))
        for piece in pieces:
            code = [line for p in closure(piece, pieces) for line in p.lines + [""]]
            for name in piece.words & names:
                if name not in found or len(code) < len(found[name][1]):
                    found[name] = (path, code)
    for name, by in THROUGH.items():
        if name in names and by in found:
            found[name] = found[by]
    return found
