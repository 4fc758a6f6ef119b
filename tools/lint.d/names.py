"""Names that are to be found by a search: tags, static functions, invariants."""
import re

from lists import List
from modules import module

TAG = re.compile(r"\b(?:struct|union|enum)\s+(?:__attribute__\s*\(\(.*?\)\)\s*)?(\w+)\s*\{")
# At the beginning of a line: static, the type, the name, the parameters, a body.
STATIC = re.compile(r"^(?:\w+\s+)*?static\b([^;{}=]*?)\b(\w+)\s*(\((?:[^();{}]|\([^();{}]*\)"
                    r"|\((?:[^();{}]|\([^();{}]*\))*\))*\))\s*\{", re.M)
ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")
INVARIANT = re.compile(r"^ \* ([A-Z][A-Z0-9]*(?:[_-][A-Z]+)*-?[0-9]+)  \S")


def places(lint, pattern, group, prefix):
    """name: its places (path, line number), one a file."""
    found = {}
    for path, code in sorted(lint.code.items()):
        if path.startswith(prefix):
            text = ATTRIBUTE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), "\n".join(code))
            for match in pattern.finditer(text):
                number = text.count("\n", 0, match.start(group)) + 1
                found.setdefault(match.group(group), {}).setdefault(path, number)
    return found


def check_tags(lint):
    """tag: a struct, union or enum tag is defined in one file."""
    for name, files in places(lint, TAG, 1, ("src/", "include/")).items():
        if len(files) > 1:
            path, number = sorted(files.items())[-1]
            lint.fail_at("tag", path, number, f"{name}: also in "
                         + ", ".join(sorted(set(files) - {path})))


def check_statics(lint):
    """static: a static function's name stands in one file; statics.txt: name, number of files."""
    known = List(lint.root, "statics")
    for name, files in sorted(places(lint, STATIC, 2, "src/").items()):
        if len(files) < 2:
            continue
        path, number = sorted(files.items())[-1]
        if len(files) > known.number(name):
            lint.fail_at("static", path, number, f"{name}: also in "
                         + ", ".join(sorted(set(files) - {path})))
        elif len(files) < known.number(name):
            lint.hint(f"{known.path}: {name}: {len(files)} files now")
    lint.shrinks(known)


def prefixes(lint):
    """module: what its invariants begin with.  RING, but CHAN-RING if there are two."""
    mods = {module(path) for path in lint.code if path.startswith("src/")}
    def one(name):
        owner, own = name.split("/")[-2:]
        same = [m for m in mods if m.split("/")[-1] == own]
        text = own if len(same) < 2 or owner == own else f"{owner}-{own}"
        return text.upper().replace("_", "-")
    return {name: one(name) for name in mods}


def check_invariants(lint):
    """invariant: an id is its module's name and a number, once; invariants.txt: file, how many
    of its ids are not."""
    known, begin, seen = List(lint.root, "invariants"), prefixes(lint), {}
    for path in sorted(lint.code):
        if not path.startswith("src/"):
            continue
        odd = []
        for number, line in enumerate(lint.text[path], 1):
            match = INVARIANT.match(line)
            if not match:
                continue
            name, wanted = match.group(1), begin[module(path)]
            if not re.fullmatch(re.escape(wanted) + "-[0-9]+", name):
                odd.append((number, f"{name}: should be {wanted}-" + re.search(r"\d+$", name)[0]))
            elif name in seen:
                lint.fail_at("invariant", path, number, f"{name}: also in {seen[name]}")
            seen.setdefault(name, f"{path}:{number}")
        if len(odd) > known.number(path):
            lint.fail_at("invariant", path, *odd[-1])
        elif len(odd) < known.number(path):
            lint.hint(f"{known.path}: {path}: {len(odd)} now")
    lint.shrinks(known)
