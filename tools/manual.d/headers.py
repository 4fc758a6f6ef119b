"""What the public headers declare: functions, groups of macros, types and constants."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lint.d"))
import prose  # the form of a public comment, which tools/lint checks

START = re.compile(r"(?:CC_API\b|static inline\b|__attribute__\(\(visibility\(\"default\"\)\)\) )")
MARKS = re.compile(r"\b(?:CC_API|CC_MUST_CHECK|CC_IN_CALLER|static inline)\b|"
                   r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)")
RULE = re.compile(r"^/\* ---- (.*?) ----")


class Function:
    """A public function: prototype without attributes, and the parts of its comment."""

    def __init__(self, header, group, text, comment):
        prototype = " ".join(MARKS.sub("", text).split())
        self.header, self.group = header, group
        self.name = re.search(r"\b(cc_\w+)\s*\(", prototype).group(1)
        self.result = prototype[:prototype.index(self.name)].strip()
        self.arguments = split_arguments(prototype[prototype.index(self.name) + len(self.name):])
        self.page = prose.page_of(comment)
        if isinstance(self.page, str):
            raise SystemExit(f"{header}: {self.name}: {self.page}")
        self.must_check = "CC_MUST_CHECK" in text


class Macros:
    """Macros in lower case that one comment describes; `uses` are how each is written."""

    def __init__(self, header, group, text, comment):
        self.header, self.group, self.comment = header, group, comment
        self.uses = [re.sub(r"\s+", " ", m.group(1)) for m in
                     re.finditer(r"^#define\s+(cc_\w+(?:\([^)]*\))?)", text, re.M)]
        self.names = [use.split("(")[0] for use in self.uses]
        self.name = self.names[0]


class Header:
    """One public header: its opening comment, and its chunks in order."""

    def __init__(self, path):
        self.name = "ccc/" + os.path.basename(path)
        self.page = "ccc_" + os.path.basename(path).replace(".hpp", "_hpp").replace(".h", "")
        self.functions, self.macros, self.types = [], [], []
        with open(path, encoding="utf-8") as f:
            text = f.read()
        first = re.match(r"/\*.*?\*/\n", text, re.S)
        self.opening = first.group() if first else ""
        group, inner = "", False
        for chunk in chunks(text[len(self.opening):]):
            rule = RULE.match(chunk)
            if rule:
                group, inner = rule.group(1), rule.group(1).startswith("implementation")
            self.add(chunk, group, inner)

    def add(self, chunk, group, inner):
        chunk = re.sub(r"^#ifndef __cplusplus\n", "", chunk)
        comment = re.match(r"/\*.*?\*/\n?", chunk, re.S)
        code = chunk[comment.end():] if comment else chunk
        comment = comment.group() if comment else ""
        if not code.strip() or code.startswith("#include"):
            return
        if START.match(code) and re.search(r"\bcc_\w+\s*\(", code):
            self.functions += [Function(self.name, group, piece, comment)
                               for piece in prototypes(code)]
        elif re.search(r"^#define cc_", code, re.M) and not inner:
            self.macros.append(Macros(self.name, group, code, comment))
        elif not inner and re.search(r"typedef|enum|struct|extern const|#define CC(?!C_\w+_H$)", code, re.M) \
                and self.page not in ("ccc_cxx", "ccc_branch") and "## " not in code:
            self.types.append(chunk)


def chunks(text):
    """Declarations with their comments: what stands between blank lines outside of comments, braces
    and continued lines; and before the comment of another function."""
    text = re.sub(r'#ifdef __cplusplus\n(?:extern "C" \{|\})\n#endif\n', "\n", text)
    lines, held, depth, comment = text.split("\n"), [], 0, False
    for i, line in enumerate(lines):
        blank = not line.strip()
        if depth == 0 and not comment and (
                blank or (line.startswith("/*") and held and held[-1] == "}")):
            if "".join(held).strip():
                yield "\n".join(held).strip("\n") + "\n"
            held = []
        if not (blank and not held):
            held.append(line)
        stripped, comment = without_comment(line, comment)
        if not stripped.startswith("#") and not (i and lines[i - 1].endswith("\\")):
            depth += stripped.count("{") - stripped.count("}")
    if "".join(held).strip():
        yield "\n".join(held).strip("\n") + "\n"


def without_comment(line, inside):
    """The line without comments, and whether a comment is open after it."""
    out = ""
    while line:
        if inside:
            end = line.find("*/")
            if end < 0:
                return out, True
            line, inside = line[end + 2:], False
        else:
            start = line.find("/*")
            if start < 0:
                return out + line, False
            out, line, inside = out + line[:start], line[start + 2:], True
    return out, inside


def prototypes(code):
    """The declarations of a chunk, without bodies."""
    code = re.sub(r"/\*.*?\*/", "", code, flags=re.S)
    code = code[:code.index("{")] + ";" if "{" in code else code
    for piece in code.split(";"):
        if re.search(r"\bcc_\w+\s*\(", piece):
            yield piece.strip()


def split_arguments(text):
    """'(int a, void (*f)(int, int))' as a list of arguments."""
    text, out, depth, start = text.strip()[1:-1].strip(), [], 0, 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            out.append(text[start:i].strip())
            start = i + 1
    return [a for a in out + [text[start:].strip()] if a]


def read(root):
    """All headers of include/ccc, in alphabetical order."""
    folder = os.path.join(root, "include/ccc")
    return [Header(os.path.join(folder, name)) for name in sorted(os.listdir(folder))
            if name.endswith(".h") and name != "ccc.h"]


def body(comment):
    """The text of a comment as paragraphs: lists of lines without the leading ` *`."""
    text = re.sub(r"^/\*|\*/\s*$", "", comment.strip())
    lines = [re.sub(r"^\s*\*(?= |$|\t)", "", line).rstrip() for line in text.split("\n")]
    return [p.split("\n") for p in re.split(r"\n(?:[ \t]*\n)+", "\n".join(lines).strip("\n"))]
