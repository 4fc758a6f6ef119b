#!/usr/bin/env python3
"""rc11.py N SEED: N random litmus programs as scenarios, with their answers.

The answers come from the axioms, by brute force over all reads-from and
modification orders, and share nothing with the engine:

    python3 tests/explore/rc11.py 300 1 >build/rc11.c
    tools/explore --program build/rc11.c

Axioms: RC11 (Lahav et al. 2017) with the release sequences of C20, the
strengthenings that engine/seqcst.c names, and no cycle in sb + rf (which leaves
load buffering out, as the explorer does).
"""
import itertools
import random
import sys

RLX, ACQ, REL, AR, SC = "CC__RELAXED CC__ACQUIRE CC__RELEASE CC__ACQ_REL CC__SEQ_CST".split()
LOCS = "xyz"


class Event:
    """One operation: kind is R, W, U (exchange), C (compare-exchange) or F."""

    def __init__(self, thread, kind, loc=None, order=RLX, value=None, expected=None, failure=RLX):
        self.thread, self.kind, self.loc, self.order = thread, kind, loc, order
        self.value, self.expected, self.failure = value, expected, failure


# Which location each operation of each thread touches: shapes that close a cycle
# of two, three and four threads, and any.
SHAPES = ["xy yx", "xy yx", "xy yx", "xyx yx", "xxy yx", "xy yyx", "xyz zyx", "xy yz zx",
          "x xy yx", "x xy yx", "x y xy yx", "xy x y yx", "xyy yxx", "xxy yyx", "?? ???", "?? ?? ??"]
# How orders are drawn: for loads, stores, RMWs, and how often a fence follows.
STYLES = [([SC], [SC], [SC], 0), ([SC, SC, ACQ], [SC, SC, REL], [SC, AR], 0.1),
          ([RLX], [RLX], [RLX], 0.9), ([RLX, SC], [RLX, SC], [RLX, SC], 0.6),
          ([RLX, ACQ, SC], [RLX, REL, SC], [RLX, ACQ, REL, AR, SC], 0.3),
          ([RLX, ACQ], [RLX, REL], [RLX, AR], 0.4)]


def random_program(rng):
    threads, counter = [], {loc: 0 for loc in LOCS}
    loads, stores, rmws, fences = rng.choice(STYLES)
    for thread, shape in enumerate(rng.choice(SHAPES).split()):
        events = []
        for loc in shape:
            loc = rng.choice("xy") if loc == "?" else loc
            kind = rng.choice("RRRRWWWWUC")
            if events and rng.random() < fences:
                events.append(Event(thread, "F", order=rng.choice([SC, SC, SC, SC, ACQ, REL])))
            if kind != "R":
                counter[loc] += 1
            order = rng.choice(loads if kind == "R" else stores if kind == "W" else rmws)
            events.append(Event(thread, kind, loc, order, counter[loc], rng.randint(0, 2),
                                rng.choice(loads)))
        threads.append(events)
    return threads


# Relations are lists of bit masks: r[a] has bit b set if (a, b) is in r.

def compose(r, s):
    out = []
    for row in r:
        acc, b = 0, 0
        while row:
            if row & 1:
                acc |= s[b]
            row >>= 1
            b += 1
        out.append(acc)
    return out


def union(*rs):
    return [0 if not rows else _or(rows) for rows in zip(*rs)]


def _or(rows):
    acc = 0
    for row in rows:
        acc |= row
    return acc


def closure(r):
    r = list(r)
    for k in range(len(r)):
        bit = 1 << k
        for i in range(len(r)):
            if r[i] & bit:
                r[i] |= r[k]
    return r


def irreflexive(r):
    return not any(row >> i & 1 for i, row in enumerate(r))


def only(r, first=None, last=None):
    """[first] ; r ; [last]"""
    return [(row & last if last is not None else row)
            if first is None or first >> i & 1 else 0 for i, row in enumerate(r)]


def identity(n, members):
    return [members & 1 << i for i in range(n)]


def transpose(r):
    out = [0] * len(r)
    for a, row in enumerate(r):
        for b in range(len(r)):
            if row >> b & 1:
                out[b] |= 1 << a
    return out


class Execution:
    """One candidate: which store each load reads, and the modification orders."""

    def __init__(self, events, kinds, orders, sb, rf_of, mo_lists):
        self.events, self.kinds, self.orders = events, kinds, orders
        self.n, self.sb, self.rf_of, self.mo_lists = len(events), sb, rf_of, mo_lists

    def members(self, test):
        return sum(1 << i for i in range(self.n) if test(i))

    def consistent(self):
        n, kinds, orders, sb = self.n, self.kinds, self.orders, self.sb
        rf, mo = [0] * n, [0] * n
        for read, write in self.rf_of.items():
            rf[write] |= 1 << read
        for writes in self.mo_lists:
            for i, w in enumerate(writes):
                for later in writes[i + 1:]:
                    mo[w] |= 1 << later
        if not irreflexive(closure(union(sb, rf))):
            return False
        for read, write in self.rf_of.items():		# RMWs are glued
            if kinds[read] == "U":
                order = next(m for m in self.mo_lists if read in m)
                if order.index(read) != order.index(write) + 1:
                    return False
        rb = [0] * n
        for read, write in self.rf_of.items():
            rb[read] = mo[write] & ~(1 << read)
        eco = closure(union(rf, mo, rb))
        release = self.members(lambda i: orders[i] in (REL, AR, SC) and kinds[i] in "WUF")
        acquire = self.members(lambda i: orders[i] in (ACQ, AR, SC) and kinds[i] in "RUF")
        fence = self.members(lambda i: kinds[i] == "F")
        write = self.members(lambda i: kinds[i] in "WU")
        read = self.members(lambda i: kinds[i] in "RU")
        rmw = self.members(lambda i: kinds[i] == "U")
        every = identity(n, (1 << n) - 1)
        sequence = only(union(every, closure(only(rf, last=rmw))), first=write)
        start = union(identity(n, release & ~fence), only(sb, first=release & fence))
        end = union(identity(n, acquire & ~fence), only(sb, last=acquire & fence))
        sw = compose(compose(compose(start, only(sequence, first=write)), only(rf, last=read)),
                     end)
        hb = closure(union(sb, sw))
        if not irreflexive(hb) or not irreflexive(compose(hb, eco)):
            return False
        return self.ordered(hb, eco, mo, rb, rf, every)

    def ordered(self, hb, eco, mo, rb, rf, every):
        """The axiom of seq_cst."""
        sc = self.members(lambda i: self.orders[i] == SC and self.kinds[i] != "I")
        scf = sc & self.members(lambda i: self.kinds[i] == "F")
        maybe_hb = union(every, hb)
        first = union(identity(self.n, sc), only(maybe_hb, first=scf))
        last = union(identity(self.n, sc), only(maybe_hb, last=scf))
        scb = union(hb, mo, rb)
        base = compose(compose(first, scb), last)
        fences = only(union(hb, compose(compose(hb, eco), hb)), first=scf, last=scf)
        through_reads = only(compose(compose(union(mo, rb), rf), only(hb, last=scf)), first=sc)
        return irreflexive(closure(union(base, fences, through_reads)))


def outcomes(program):
    events = [Event(-1, "I", loc, SC, 0) for loc in LOCS] + [e for t in program for e in t]
    n = len(events)
    sb = [0] * n
    for a, first in enumerate(events):
        for b, second in enumerate(events):
            if a < b and second.kind != "I" and (first.kind == "I" or
                                                 first.thread == second.thread):
                sb[a] |= 1 << b
    readers = [i for i, e in enumerate(events) if e.kind in "RUC"]
    writers = {loc: [i for i, e in enumerate(events) if e.loc == loc and e.kind in "IWUC"]
               for loc in LOCS}
    found = set()
    for sources in itertools.product(*[[w for w in writers[events[r].loc] if w != r]
                                       for r in readers]):
        rf_of = dict(zip(readers, sources))
        kinds = [e.kind for e in events]
        orders = [e.order for e in events]
        for r, w in rf_of.items():
            if events[r].kind == "C":
                hit = events[w].value == events[r].expected
                kinds[r] = "U" if hit else "R"
                orders[r] = events[r].order if hit else events[r].failure
        if any(kinds[w] == "R" for w in rf_of.values()):
            continue
        per_loc = [[i for i in writers[loc] if kinds[i] in "WU"] for loc in LOCS]
        for mo in itertools.product(*[itertools.permutations(p) for p in per_loc]):
            lists = [[i, *order] for i, order in enumerate(mo)]
            if Execution(events, kinds, orders, sb, rf_of, lists).consistent():
                seen = [events[rf_of[r]].value for r in readers]
                last = [events[order[-1]].value for order in lists]
                found.add("".join(map(str, seen + last)))
    return found


def emit(number, program, answers):
    print(f"/* {number} */")
    register, show = 0, []
    for t, events in enumerate(program):
        print(f"static void body_{number}_{t}(void)\n{{")
        for e in events:
            if e.kind == "R":
                print(f"\tr[{register}] = cc__load(&{e.loc}, {e.order});")
            elif e.kind == "W":
                print(f"\tcc__store(&{e.loc}, {e.value}, {e.order});")
            elif e.kind == "U":
                print(f"\tr[{register}] = cc__xchg(&{e.loc}, {e.value}, {e.order});")
            elif e.kind == "C":
                print(f"\tr[{register}] = {e.expected};")
                print(f"\tcc__cas(&{e.loc}, &r[{register}], {e.value}, {e.order}, {e.failure});")
            else:
                print(f"\tcc__fence({e.order});")
            if e.kind in "RUC":
                show.append(register)
                register += 1
        print("}")
    text = "%u" * (len(show) + len(LOCS))
    args = ", ".join([f"r[{i}]" for i in show] + [f"cc__peek(&{loc})" for loc in LOCS])
    print(f'static void show_{number}(void) {{ mc_outcome("{text}", {args}); }}')
    bodies = ", ".join(f"body_{number}_{t}" for t in range(len(program)))
    print(f"SCENARIO(rc11_{number}, .body = {{{bodies}}}, .final = show_{number}, "
          f'.bound = MC_ALL, .weak = MC_ALL, .outcomes = "{" ".join(sorted(answers))}")\n')


def main():
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(seed)
    print('#include "engine.h"\n\nstatic cc__a32 x, y, z;\nstatic uint32_t r[16];\n')
    for number in range(count):
        program = random_program(rng)
        emit(number, program, outcomes(program))


if __name__ == "__main__":
    main()
