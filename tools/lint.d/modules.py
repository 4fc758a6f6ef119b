"""The graph of includes.  A .c and its .h are one module."""
import re

from lists import List

# The layer whose calls a public header declares: to include it is to include that layer.
PUBLIC = {
    "base": "os", "version": "os", "errno": "os", "cxx": "base", "park": "park", "cap": "park",
    "task": "task", "fiber": "task", "local": "task", "blocking": "io", "fd": "io",
    "process": "io", "io": "io", "net": "io", "arena": "arena", "chan": "chan", "select": "chan",
    "token": "chan", "broadcast": "chan", "nursery": "scope", "combine": "scope", "typed": "scope", "sync": "sync", "debug": "monitor",
    "describe": "monitor",
    "stream": "io", "serve": "serve", "signal": "serve", "trace": "monitor", "runtime": "runtime",
    "branch": "sched", "parallel": "scope", "stats": "runtime", "ccc": "runtime",
}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)')


def module(path):
    """src/wait/word.h: wait/word."""
    return re.sub(r"\.\w+$", "", re.sub(r"^src/", "", path))


def includes(lint):
    """(path, line number, kind of quote, what) of the includes in src."""
    for path, code in sorted(lint.code.items()):
        if path.startswith("src/"):
            for number, line in enumerate(code, 1):
                if match := INCLUDE.match(line):
                    yield path, number, *match.groups()


def components(graph):
    """Sets of nodes that reach each other, those of one node left out (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(found)


def graphs(lint):
    """Modules and directories, each with the places where it includes another."""
    modules, directories = {}, {}
    for path, number, kind, target in includes(lint):
        if kind == '"' and "/" in target:
            own, other = module(path), module(target)
            for graph, a, b in ((modules, own, other),
                                (directories, own.split("/")[0], other.split("/")[0])):
                if a != b:
                    graph.setdefault(a, {}).setdefault(b, (path, number))
    return modules, directories


def first_edge(graph, group):
    return min(place for a in group for b, place in graph[a].items() if b in group)


def check_cycles(lint):
    """cycle: none between directories; one inside a directory is in cycles.txt, with the number
    of its modules and their names."""
    modules, directories = graphs(lint)
    for group in components(directories):
        lint.fail_at("cycle", *first_edge(directories, group),
                     "directories include each other: " + " ".join(group))
    known = List(lint.root, "cycles")
    for group in components(modules):
        if len({name.split("/")[0] for name in group}) > 1:
            continue  # reported above
        owner = group[0].split("/")[0]
        names = [name.split("/")[1] for name in group]
        allowed = next((rest.split() for key, rest in sorted(known.entries.items())
                        if key.split(":")[0] == owner and set(names) <= set(rest.split()[1:])), None)
        if allowed is None or len(names) > int(allowed[0]):
            lint.fail_at("cycle", *first_edge(modules, group),
                         f"{len(names)} modules of {owner} include each other: " + " ".join(names))
            continue
        known.used.update(key for key in known.entries if known.entries[key].split() == allowed)
        if len(names) < len(allowed) - 1 or len(names) < int(allowed[0]):
            lint.hint(f"{known.path}: {owner}: {len(names)} modules now: {' '.join(names)}")
    lint.shrinks(known)


def check_public_layers(lint):
    """layer: a public header stands in the layer that implements it (PUBLIC)."""
    known = List(lint.root, "upward")
    for path, number, kind, target in includes(lint):
        match = re.fullmatch(r"ccc/(\w+)\.h", target)
        own = path.split("/")[1]
        if not match or own not in lint.layers:
            continue
        above = PUBLIC.get(match.group(1))
        if above is None:
            lint.fail_at("layer", path, number, f"<{target}>: whose is it?  Add it to "
                         "PUBLIC in tools/lint.d/modules.py")
        elif (lint.layers.index(above) > lint.layers.index(own)
                and not known.has(f"{path}:{target}")):
            lint.fail_at("layer", path, number, f"{own} includes <{target}>, which is {above}'s")
    lint.shrinks(known)


def check_listed(lint):
    """module: each module of src has its line in docs/architecture.md, and no other is there."""
    page = "docs/architecture.md"
    lines = lint.text.get(page)
    if lines is None:
        return
    there = {}
    for path in sorted(lint.code):
        if path.startswith("src/") and path.count("/") == 2:
            there.setdefault(re.sub(r"_(x86_64|aarch64)$", "", module(path)), path)
    listed = {}
    for number, line in enumerate(lines, 1):
        if line.startswith("| `"):
            for name in re.findall(r"`(\w+/\w+)`", line.split("|")[1]):
                listed[name] = number
    for name in sorted(set(there) - set(listed)):
        lint.fail_at("module", there[name], 1, f"{name} has no line in {page}")
    for name in sorted(set(listed) - set(there)):
        lint.fail_at("module", page, listed[name], f"{name} is not in src")
