"""Section 3: a page for each public function, each group of macros and each header."""
import re

import headers
import mdoc

LINES = 78
SEE = 10	# entries of SEE ALSO


class Section3:
    def __init__(self, tree, examples, date):
        self.headers, self.examples, self.date = tree, examples, date
        self.known = {name for h in tree for name in
                      [f.name for f in h.functions] + [n for m in h.macros for n in m.names]}

    def pages(self):
        """(file name, text) of every page; links are pages of one line."""
        for h in self.headers:
            yield h.page + ".3", self.header(h)
            for f in h.functions:
                yield f.name + ".3", self.function(h, f)
            for m in h.macros:
                yield m.name + ".3", self.macro(h, m)
                for other in m.names[1:]:
                    if other not in {f.name for g in self.headers for f in g.functions}:
                        yield other + ".3", f".so man3/{m.name}.3\n"
            for name in type_names(h):
                yield name + ".3", f".so man3/{h.page}.3\n"

    # ---- parts ----

    def head(self, title, names, description):
        lines = [f".Dd {self.date}", f".Dt {title.upper()} 3", ".Os libccc", ".Sh NAME"]
        for name in names[:-1]:
            lines.append(f".Nm {name} ,")
        return lines + [f".Nm {names[-1]}", *description_line(description)]

    def example(self, name):
        found = self.examples.get(name)
        if not found:
            return []
        path, code = found[:2]
        where = path.split("/", 1)[1] if path.startswith("docs/") else path
        return [".Sh EXAMPLES", *mdoc.literal(code), ".Pp",
                *mdoc.flow(f"The tests run this code, which is part of `{where}` in the "
                           "documentation of the library.", "B")]

    def see(self, text, header, others, own):
        names = [n for n in dict.fromkeys(re.findall(r"\bcc_\w+", text)) if n in self.known]
        names = [n for n in dict.fromkeys(names + others) if n not in own][:SEE]
        links = [(n, 3) for n in sorted(names + ([] if header.page in own else [header.page]))]
        section7 = {"chan": "channels", "select": "channels", "broadcast": "channels", "nursery": "nurseries",
                    "combine": "nurseries", "token": "cancellation", "io": "io", "fd": "io",
                    "net": "io", "stream": "io", "serve": "io", "debug": "debugging",
                    "fiber": "debugging", "trace": "debugging", "stats": "tuning",
                    "runtime": "tuning", "park": "park", "cap": "park"}.get(header.page[4:])
        links += [(n, 7) for n in sorted(["ccc"] + (["ccc-" + section7] if section7 else []))]
        return [".Sh SEE ALSO", *[f".Xr {n} {s} ,".replace(" ,", "") if (n, s) == links[-1]
                                  else f".Xr {n} {s} ," for n, s in links]]

    def context(self, tags):
        return [".Sh CALLING CONTEXT", ".Bl -tag -width Cancellation -compact",
                *[line for name, what in meaning(tags)
                  for line in (f".It {name}", *mdoc.flow(what))], ".El"]

    # ---- pages ----

    def function(self, header, f):
        page = f.page
        words = page["first"] + " " + " ".join(page["text"]) + " ".join(page["rows"])
        lines = self.head(f.name, [f.name], page["first"])
        lines += [".Sh SYNOPSIS", f".In {header.name}", f".Ft {mdoc.argument(f.result)}",
                  f".Fo {f.name}"]
        lines += [f".Fa {mdoc.argument(a)}" for a in f.arguments] + [".Fc"]
        lines += [".Sh DESCRIPTION"]
        lines += [x for text in page["text"] for x in [".Pp", *mdoc.flow(text)]][1:]
        for example in page["examples"]:
            lines += mdoc.literal(example.split("\n"))
        lines += self.context(page["tags"])
        if page["returns"]:
            lines += [".Sh RETURN VALUES", *returns(page)]
            if page["after"] and (not page["rows"] or is_list_of_cases(page)):
                lines += [".Pp", *mdoc.flow(" ".join(" ".join(page["after"]).split()))]
        lines += self.example(f.name)
        if page["rows"] and not is_list_of_cases(page):
            lines += [".Sh ERRORS", *rows(page["rows"])]
            after = " ".join(" ".join(page["after"]).split())
            lines += [".Pp", *mdoc.flow(after)] if after else []
        others = [g.name for g in header.functions if g.group == f.group]
        return "\n".join(lines + self.see(words, header, others, {f.name})) + "\n"

    def macro(self, header, m):
        paragraphs = headers.body(m.comment)
        first = " ".join(" ".join(paragraphs[0]).split())
        lines = self.head(m.name, m.names, short_of_macro(first))
        lines += [".Sh SYNOPSIS", f".In {header.name}"]
        lines += [f".Fd {mdoc.argument('#define ' + use)}".replace('.Fd "#define ', ".Fd \"#define ")
                  for use in m.uses]
        lines += [".Sh DESCRIPTION", *prose_of(paragraphs)]
        lines += self.example(m.name)
        others = [n for g in header.macros for n in g.names[:1]]
        return "\n".join(lines + self.see(m.comment, header, others, set(m.names))) + "\n"

    def header(self, h):
        paragraphs = headers.body(h.opening)
        text = " ".join(" ".join(paragraphs[0]).split())
        short = re.sub(r"^[\w.]+ - ", "", text)
        paragraphs[0] = [short[0].upper() + short[1:]]
        lines = self.head(h.page, [h.page], short)
        lines += [".Sh SYNOPSIS", f".In {h.name}", ".Sh DESCRIPTION", *prose_of(paragraphs)]
        if h.functions or h.macros:
            lines += [".Sh FUNCTIONS", ".Bl -tag -width Ds"]
            for f in h.functions:
                lines += [f".It Xr {f.name} 3", *mdoc.flow(mdoc.sentences(f.page["first"])[0])]
            lines.append(".El")
        if h.macros:
            lines += [".Sh MACROS", ".Bl -bullet -compact"]
            for m in h.macros:
                lines += [".It", f".Xr {m.name} 3" + (" :" if m.names[1:] else "")]
                lines += mdoc.flow(", ".join(m.names[1:])) if m.names[1:] else []
            lines.append(".El")
        if h.types:
            lines += [".Sh TYPES AND CONSTANTS"]
            for t in h.types:
                lines += mdoc.literal(t.rstrip("\n").split("\n"))
        return "\n".join(lines + self.see(h.opening, h, [], {h.page})) + "\n"


def short_of_macro(first):
    """What a macro is or does, from `cc_name(arguments) does ...`."""
    depth, end = 0, 0
    match = re.match(r"cc_\w+", first)
    if match:
        end = match.end()
        for i in range(end, len(first)):
            depth += (first[i] == "(") - (first[i] == ")")
            if depth == 0:
                end = i + (first[i] == ")")
                break
    return re.sub(r"^,? ?(?:and cc_\w+(?:\([^)]*\))? )?(?:is the |are the )?", "", first[end:].strip())


def description_line(text):
    """.Nd: the first sentence, without its full stop, as a phrase."""
    text = re.split(r"; |: at its", mdoc.sentences(" ".join(text.split()))[0])[0].rstrip(".:")
    text = text[0].lower() + text[1:] if not re.match(r"[A-Z]{2}|C\b", text) else text
    return [f".Nd {mdoc.escape(text.replace('`', ''))}"]


def type_names(h):
    """Names of types, for links to the header's page."""
    text = re.sub(r"/\*.*?\*/", "", "\n".join(h.types), flags=re.S)
    names = re.findall(r"^typedef struct \w+ (CC\w+);|^\} (CC\w+);|^typedef (?!struct)[^;{]*?\b"
                       r"(cc_\w+)(?:\(|;)|\bextern const \w+ (cc_\w+);", text, re.M)
    return [n for n in dict.fromkeys(x for t in names for x in t if x)]


def prose_of(paragraphs):
    """Paragraphs of a comment: text, indented code, and lists of `- ` or of quoted strings."""
    lines = []
    for number, p in enumerate(paragraphs):
        code = [bool(re.match(r" {5,}|\t| \t", line)) for line in p]
        if not any(code):
            lines += ([".Pp"] if number else []) + items(p)
            continue
        held, kind = [], code[0]
        for line, is_code in zip(p + [""], code + [None]):
            if is_code is not kind:
                lines += mdoc.literal(held) if kind else ([".Pp"] if number or lines else []) + items(held)
                held, kind = [], is_code
            held.append(line)
    return lines


def items(p):
    """A paragraph, or a list whose entries begin with `   - `."""
    if not any(re.match(r"\s+- ", line) for line in p):
        return mdoc.flow(" ".join(" ".join(p).split()))
    start = next(i for i, line in enumerate(p) if re.match(r"\s+- ", line))
    entries = []
    for line in p[start:]:
        if re.match(r"\s+- ", line):
            entries.append(line.strip()[2:])
        else:
            entries[-1] += " " + line.strip()
    lines = mdoc.flow(" ".join(p[:start])) if start else []
    return lines + [".Bl -bullet", *[x for e in entries for x in (".It", *mdoc.flow(e))], ".El"]


def returns(page):
    text = page["returns"]
    if not page["rows"]:
        return mdoc.flow(text)
    if is_list_of_cases(page):
        return mdoc.flow(text) + [".Bl -bullet", *[line for _, why in entries_of(page["rows"])
                                                  for line in (".It", *mdoc.flow(why))], ".El"]
    condition = re.search(r"^(.*), or, (if .*),$", text)
    if condition:
        return mdoc.flow(f"{condition.group(1)}, or, {condition.group(2)}, an error of the list below.")
    return mdoc.flow(re.sub(r",? or,?$|[,;:]( or)?$", "", text).strip() + ", or an error of the list below.")


def is_list_of_cases(page):
    return all(name == "-" for name, _ in entries_of(page["rows"]))


def entries_of(given):
    """The rows of a comment as pairs of name and text."""
    entries = []
    for row in given:
        row = row[1:] if row.startswith(" ") else row
        match = re.match(r" {2}(E[A-Z0-9]+(?:, E[A-Z0-9]+)*|\((?:other|error|value)\)) +(\S.*)", row)
        more = re.match(r" {2}(?:and|-) (\S.*)", row)
        if match:
            entries.append([match.group(1), match.group(2)])
        elif more:
            entries.append(["and" if row.strip().startswith("and") else "-", more.group(1)])
        else:
            entries[-1][1] += " " + row.strip()
    return entries


def rows(given):
    """The errors of a comment as a list."""
    lines = [".Bl -tag -width Er"]
    for name, why in entries_of(given):
        if name.startswith("E"):
            tag = " , ".join(name.split(", "))
            lines += [f".It Bq Er {tag}"]
        else:
            lines += [".It " + {"and": "Also"}.get(name, name)]
        lines += mdoc.flow(why[0].upper() + why[1:] if re.match(r"[a-z]+ ", why) else why)
    return lines + [".El"]


def meaning(tags):
    """The closing tags of a comment as (name, text)."""
    tags = mdoc.sentences(tags)
    caller, parks = tags[0], tags[1]
    rest = " ".join(tags[2:])
    yield "Caller", caller
    yield "Waiting", parks
    cancel = re.search(r"(?:Not a c|C)ancellation point[^.]*\.", rest)
    yield "Cancellation", cancel.group() if cancel else "Not a cancellation point."
    signal = re.search(r"May be called from a signal handler[^.]*\.|Not in a signal handler[^.]*\.", rest)
    yield "Signals", signal.group() if signal else "Not in a signal handler."
