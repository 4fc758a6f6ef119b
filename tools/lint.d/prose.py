"""The words and the form of what users read."""
import re

from lists import List

WORDS = re.compile(r"\b(who|whom|whoever|he|his|him|somebody|nobody|anybody|everybody)\b", re.I)


def check_words(lint):
    """word: a noun instead of these; words.txt: file, how many it still has."""
    known = List(lint.root, "words")
    for path, lines in sorted(lint.text.items()):
        if not path.startswith(("include/", "docs/")) and path != "README.md":
            continue
        found = [(number, match.group()) for number, line in enumerate(lines, 1)
                 for match in WORDS.finditer(line) if "lint: allow(words)" not in line]
        if len(found) > known.number(path):
            lint.fail_at("words", path, found[-1][0], f"{found[-1][1]}: name the actor; "
                         f"{len(found)} such words, {known.number(path)} are let through")
        elif len(found) < known.number(path):
            lint.hint(f"{known.path}: {path}: {len(found)} now")
    lint.shrinks(known)


# ---- the comment of a public function, as a manual page ----
#
#   Does something.  More of it.         a verb in the third person; ends with a full stop
#                                        (blank lines between paragraphs)
#       an example                       indented by five blanks or a tab
#   Returns 0, or                        must be there unless the function is void
#     EPIPE       why                    one error a line, continued under its text
#     (other)     why                    or (error), (value)
#     and the errors of cc_other
#   What holds after an error.
#   Any thread.  May park.  Cancellation point.          closes it

DECLARATION = re.compile(r"^(?:CC_API|static inline)\b[^;{]*?\b(cc_\w+)\s*\(", re.M)
CALLER = (r"(?:Any thread|Any fiber or thread|Any task|Fibers? only|Threads? only|Only an? \w+|"
          r"Only the \w+|The \w+ only|Owner only|The owner|The caller|One \w+ at a time)(?:[ ,;][^.]*)?\.")
PARKS = r"(?:May park|Never parks|Does not park|Parks|Blocks the calling thread)(?:[ ,;][^.]*)?\."
CANCEL = r"(?:Cancellation point|Not a cancellation point)(?:[ ,;][^.]*)?\."
SIGNAL = r"(?:May be called from a signal handler|Not in a signal handler)(?:[ ,;][^.]*)?\."
TAGS = re.compile(rf"{CALLER} {PARKS}(?: {CANCEL})?(?: {SIGNAL})?")
VERB = re.compile(r"[A-Z][a-z]+(?:s|es)\b")
ROW = re.compile(r" {3}(?:E[A-Z0-9]+(?:, E[A-Z0-9]+)*|\((?:other|error|value)\)) +\S| {3}and \S| {3}- \S| {5,}\S")


def page_of(comment):
    """The parts of a comment: first, text, examples, returns, rows, after, tags; or what is wrong
    with it, as a string."""
    body = re.sub(r"^/\*|\*/$", "", comment.strip())
    lines = [re.sub(r"^\s*\*", "", line).rstrip() for line in body.split("\n")]
    paragraphs = [p.split("\n") for p in re.split(r"\n(?:[ \t]*\n)+", "\n".join(lines).strip("\n"))]
    page = {"text": [], "examples": [], "returns": None, "rows": [], "after": []}
    if len(paragraphs) < 2:
        return "one paragraph: the closing tags stand in one of their own"
    page["tags"] = " ".join(" ".join(paragraphs.pop()).split())
    if not TAGS.fullmatch(page["tags"]):
        return f"closing tags: {page['tags'][:60]}"
    first = " ".join(" ".join(paragraphs[0]).split())
    if not VERB.match(first) or not re.search(r"[.:]$", first):
        return f"first sentence: {first[:60]}"
    page["first"] = first
    for p in paragraphs:
        if p[0].startswith(" Returns ") and (page["returns"] is None):
            wrong = returns_of(p, page)
            if wrong:
                return wrong
        elif all(re.match(r" {5,}|[ ]?\t", line) for line in p):
            page["examples"].append("\n".join(p))
        else:
            page["text"].append(" ".join(" ".join(p).split()))
    return page


def returns_of(lines, page):
    """The paragraph of Returns into page; what is wrong with it, or None."""
    head = [lines.pop(0)]
    while lines and not re.search(r"(, or|:)$", head[-1]) and not lines[0].startswith("   "):
        head.append(lines.pop(0))
    page["returns"] = " ".join(" ".join(head).split())
    while lines and lines[0].startswith("   "):
        if not ROW.match(lines[0]):
            return f"an error's line: {lines[0].strip()[:60]}"
        page["rows"].append(lines.pop(0))
    if page["returns"].endswith(", or") and not page["rows"]:
        return "Returns 0, or: no errors follow"
    if any(line.startswith("   ") for line in lines):
        return f"text and errors are mixed: {lines[0].strip()[:60]}"
    page["after"] = lines
    return None


def public_functions(text):
    """(name, offset, void, comment) of each.  A comment is that of all declarations which follow
    it without a blank line; '' if there is none."""
    code = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)
    comments = [(m.start(), m.end(), m.group()) for m in re.finditer(r"/\*.*?\*/", text, re.S)]
    for match in DECLARATION.finditer(code):
        before = [c for c in comments if c[1] <= match.start()]
        between = text[before[-1][1]:match.start()] if before else "\n\n"
        comment = before[-1][2] if before and not re.search(r"\n[ \t]*\n", between) else ""
        head = match.group()[:match.start(1) - match.start()]
        yield match.group(1), match.start(1), bool(re.search(r"\bvoid\s*$", head)), comment


def check_manual(lint):
    """manual: a public function's comment is a manual page; manual.txt: functions without one."""
    known = List(lint.root, "manual")
    for path, lines in sorted(lint.text.items()):
        if not re.fullmatch(r"include/ccc/\w+\.h", path):
            continue
        text = "\n".join(lines)
        for name, offset, void, comment in public_functions(text):
            page = page_of(comment) if comment else "no comment"
            if not isinstance(page, str) and not void and not page["returns"] \
                    and not re.search(r"(?:^| )Returns ", " ".join([page["first"], *page["text"]])):
                page = "does not say what it returns"
            if isinstance(page, str) and not known.has(name):
                lint.fail_at("manual", path, text.count("\n", 0, offset) + 1, f"{name}: {page}")
    lint.shrinks(known)
