"""Text as mdoc(7), without anything that `mandoc -Tlint` remarks on."""
import re
import textwrap

FULL_STOP = re.compile(r"(?<=[a-z0-9A-Z`)\"'\]][.!?])([)\"']?) +(?=[A-Z0-9(`\"*\[]|cc_)")
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf)\.$")


def escape(text):
    return text.replace("\\", "\\e")


def inline(text, code="I"):
    """A sentence with its marks: `code`, *emphasis*, names of calls, types and constants."""
    def one(match):
        if match.group("code"):
            return f"\\f{code}{escape(match.group('code')[1:-1])}\\fR"
        if match.group("strong"):
            return f"\\fB{escape(match.group('strong')[2:-2])}\\fR"
        if match.group("link"):
            return inline(match.group("label"), code)
        if match.group("page"):
            return f"\\fB{match.group('page')}\\fR"
        if match.group("name"):
            return f"\\fB{match.group('name')}\\fR"
        return escape(match.group())

    token = (r"(?P<code>`[^`]+`)|(?P<strong>\*\*[^*]+\*\*)|"
             r"(?P<link>\[(?P<label>[^\]]+)\]\([^)]+\))|(?P<page>\b(?:cc\w+(?:-\w+)?\(\d\)|exit\(\)))|"
             r"(?P<name>\b(?:cc_\w+|CC_\w+|CC[A-Z]\w+)\b(?:\.\w+)?)|\\")
    return re.sub(token, one, text)


def sentences(text):
    out, start = [], 0
    for match in FULL_STOP.finditer(text):
        if ABBREVIATION.search(text[start:match.start()]):
            continue
        out.append(text[start:match.end(1)])
        start = match.end()
    return out + [text[start:]]


def guarded(line):
    """A line that is not taken for a request."""
    return "\\&" + line if line[:1] in (".", "'") else line


def flow(text, code="I"):
    """A paragraph: each sentence on a line of its own, none longer than 78 bytes."""
    lines = []
    for sentence in sentences(" ".join(text.split())):
        marked = inline(sentence, code)
        # A break inside of a name is none that a reader wants.
        lines += textwrap.wrap(marked, 76, break_long_words=False, break_on_hyphens=False)
    return [guarded(line) for line in lines]


def literal(lines):
    """A display of code."""
    lines = [line.expandtabs(8) for line in lines]
    while lines and not lines[0].strip():
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    cut = min((len(l) - len(l.lstrip()) for l in lines if l.strip()), default=0)
    return [".Bd -literal -offset indent", *[guarded(escape(line[cut:])) for line in lines], ".Ed"]


def argument(text):
    """An argument of .Fa, .Ft or .Nd: a word or a quoted string."""
    text = escape(text).replace('"', '\\(dq')
    return f'"{text}"' if " " in text or not text else text
