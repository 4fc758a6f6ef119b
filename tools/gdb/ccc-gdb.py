"""ccc-gdb.py: gdb learns of libccc's fibers, in a running process and in a core.

    info fibers [-all] [-json]      what fibers and threads do; those that do the same are one line
    fiber N                         its stack is the one that bt, up, down and info locals see
    fiber                           back to the thread's own stack
    fiber apply all|N... COMMAND    the command on the stack of each
    info nurseries                  nurseries with their children, below their owners
    info waits [-dot]               which objects are waited for, and by which fibers

Everything is read by way of the description of the process (docs/description.md), so the program
needs no debug information and nothing of it is called.  docs/ccc-ps.md says how gdb finds this file.
"""
import re
import struct
import time

import gdb
import gdb.unwinder

VERSION = 1
ENTRY = struct.Struct("<44sIQQ")
HEAD = struct.Struct("<8sIIQQ16s")
CHUNKS_MOST = 1 << 14
NEST_MOST = 256
WORDS = {1: "B", 2: "H", 4: "I", 8: "Q"}

STATES = {"idle": "done", "assigned": "queued", "queued": "queued", "owned": "running",
          "parking": "parked", "notified": "parked", "parked": "parked", "done": "done"}
KINDS = {"word": "park_word", "shared": "park_word", "chan": "recv", "fd_here": "fd"}
WAITS = {
    "none": "", "recv": "to receive from channel", "send": "to send to channel",
    "select": "in a select", "task": "for the end of task", "nursery": "for the children of nursery",
    "mutex": "for mutex", "rwlock": "for rwlock", "cond": "for condition",
    "semaphore": "for semaphore", "once": "for once", "barrier": "at barrier",
    "wait_group": "for wait group", "token": "for token", "park_word": "on word", "sleep": "",
    "fd": "for a descriptor", "blocking": "for a blocking call", "other": "for something",
}
ON_WORDS = {"mutex", "rwlock", "cond", "semaphore", "once", "barrier", "wait_group", "park_word"}
POLICIES = {"fail_fast": "the first error cancels it", "supervise": "supervises",
            "first_success": "the first success ends it"}


class Missing(Exception):
    """Memory that is not there, or a description that cannot be used."""


# ---- memory and the description ----------------------------------------------------------


class Memory:
    """Reads through pages, since what belongs together lies side by side."""
    PAGE = 4096

    def __init__(self):
        self.inferior = gdb.selected_inferior()
        self.pages = {}

    def read(self, address, size):
        try:
            return bytes(self.inferior.read_memory(address, size))
        except (gdb.MemoryError, OverflowError, ValueError) as error:
            raise Missing(f"no memory at {address:#x}") from error

    def get(self, address, size):
        page, offset = address // self.PAGE, address % self.PAGE
        if offset + size > self.PAGE or address < 0:
            return self.read(address, size)
        if page not in self.pages:
            self.pages[page] = self.read(page * self.PAGE, self.PAGE)
        return self.pages[page][offset:offset + size]

    def word(self, address, size=8):
        return int.from_bytes(self.get(address, size), "little")


def note_of_program(memory):
    """The address of the description, by the note of a program without symbols."""
    try:
        auxv = gdb.execute("info auxv", to_string=True)
    except gdb.error:
        return None
    found = {name: re.search(rf"\b{name}\b.*?(0x[0-9a-f]+|\d+)\s*$", auxv, re.M)
             for name in ("AT_PHDR", "AT_PHNUM")}
    if None in found.values():
        return None
    headers, count = (int(found[name].group(1), 0) for name in ("AT_PHDR", "AT_PHNUM"))
    programs = [struct.unpack("<IIQQQQQQ", memory.read(headers + 56 * i, 56))
                for i in range(min(count, 256))]
    base = next((headers - p[3] for p in programs if p[0] == 6), 0)    # PT_PHDR
    for kind, _, _, address, _, _, size, _ in programs:
        if kind != 4:
            continue
        text, at = memory.read(base + address, min(size, 1 << 16)), 0
        while at + 12 <= len(text):
            name, desc, note = struct.unpack_from("<III", text, at)
            body = at + 12 + (name + 3 & ~3)
            if (name, desc, note) == (7, 8, 1) and text[at + 12:at + 19] == b"libccc\0":
                return base + address + body + struct.unpack_from("<q", text, body)[0]
            at = body + (desc + 3 & ~3)
    return None


class Layout:
    """The entries of the description by their names: (value, size)."""

    def __init__(self, memory):
        self.memory = memory
        try:
            address = int(gdb.parse_and_eval("(unsigned long)&'cc_description'"))
        except gdb.error:
            address = note_of_program(memory)
        if address is None:
            raise Missing("no libccc in this program, or one without a description")
        magic, version, size, count, entries, library = HEAD.unpack(memory.read(address, HEAD.size))
        if magic != b"libccc\0\0":
            raise Missing("the description of the process cannot be read")
        self.library = library.split(b"\0")[0].decode(errors="replace")
        if version != VERSION or size != ENTRY.size or count > 4096:
            raise Missing(f"libccc {self.library} has a description of version {version}; "
                          f"this script reads version {VERSION}")
        self.entry = {}
        for name, _, size, value in ENTRY.iter_unpack(memory.read(entries, count * ENTRY.size)):
            self.entry[name.split(b"\0")[0].decode(errors="replace")] = (value, size)
        self.states = self.named("state")
        self.kinds = self.named("for")
        self.policies = self.named("policy")

    def named(self, group):
        """Numbers of a group by value."""
        return {value: name.split(".")[1] for name, (value, _) in self.entry.items()
                if name.startswith(group + ".")}

    def __getitem__(self, name):
        if name not in self.entry:
            raise Missing(f"the process does not describe {name}")
        return self.entry[name][0]

    def field(self, name, data, base=0):
        """A field of an object that has been read."""
        offset, size = self.entry.get(name, (0, 0))
        if size not in WORDS:
            return 0
        return struct.unpack_from("<" + WORDS[size], data, base + offset)[0]

    def at(self, name, address):
        """A field of an object at an address."""
        offset, size = self.entry.get(name, (0, 0))
        return self.memory.word(address + offset, size) if size in WORDS else 0

    def text(self, name, data):
        offset, size = self.entry[name]
        return data[offset:offset + size].split(b"\0")[0].decode(errors="replace")


# ---- a snapshot ---------------------------------------------------------------------------


class Fiber:
    """A fiber, or a thread outside of fibers that waits (id 0)."""
    name, wait, object, task, nursery, function, place, stack, sp = "", "none", 0, 0, 0, 0, 0, 0, 0
    since = deadline = None
    worker = 0

    def __init__(self, address, number, word):
        self.address, self.id, self.word = address, number, word
        self.state = "parked"

    def key(self):
        return (self.id == 0, self.name, self.state, self.wait, self.object, self.task, self.nursery,
                self.function, self.place, self.deadline is None)


class Nursery:
    def __init__(self, address, layout):
        self.address = address
        self.owner = layout.at("nursery.owner", address)
        policy = layout.at("nursery.policy", address)
        self.policy = layout.policies.get(policy, "")
        if not self.owner or self.owner % 8 or not self.policy:
            raise Missing("no nursery")
        self.cancelled = layout.at("nursery.cancelled", address) != 0
        self.sealed = layout.at("nursery.sealed", address) != 0
        count = layout.at("nursery.children", address) + layout.at("nursery.daemons", address)
        self.children = count // layout["tally.one"]
        if not self.sealed:
            left = layout.at("nursery.uncounted", address)
            self.children += left - (1 << 64) if left >> 63 else left
        self.place = layout.at("nursery.place", address)


def is_native():
    """The process runs on this machine."""
    connection = getattr(gdb.selected_inferior(), "connection", None)
    return connection is not None and connection.type == "native"


class Snapshot:
    """All that the process has, at the moment at which it is stopped."""

    def __init__(self):
        self.memory = Memory()
        self.layout = Layout(self.memory)
        self.fibers, self.threads, self.nurseries = [], [], {}
        self.names = {}
        self.now = self.clock()
        for address, data in self.slab("frames", "fiber"):
            self.add_frame(address, data)
        self.by_address = {f.address: f for f in self.fibers}
        for f in self.fibers:
            self.read_stack(f)
        for address, data in self.slab("threads", "thread"):
            self.add_thread(address, data)
        self.fibers.sort(key=lambda f: f.id)
        self.by_id = {f.id: f for f in self.fibers}

    def slab(self, root, kind):
        l, m = self.layout, self.memory
        size, least = l.at("slab.size", l[root]), l[kind]
        chunk = l.at("slab.chunks", l[root])
        if size < least or size > 65536:
            raise Missing(f"the slab of {root} cannot be read")
        for _ in range(CHUNKS_MOST):
            if chunk == 0:
                return
            first = chunk + l["chunk.first"]
            count = min(l.at("chunk.carved", chunk), (l["chunk.room"] - l["chunk.first"]) // size)
            data = m.read(first, count * size)
            for i in range(count):
                yield first + i * size, data[i * size:(i + 1) * size]
            chunk = l.at("chunk.next", chunk)

    def clock(self):
        """The process's clock.  Of a core, what a worker or a monitor has last read of it."""
        l = self.layout
        if is_native():
            return time.monotonic_ns()
        runtime, now = l.memory.word(l["runtimes"]), 0
        for _ in range(1024):
            if runtime == 0:
                break
            workers = l.at("runtime.worker", runtime)
            for i in range(min(l.at("runtime.workers", runtime), 1 << 14)):
                now = max(now, l.at("worker.clock", l.memory.word(workers + 8 * i)))
            runtime = l.at("runtime.next", runtime)
        shift, coarse = l["wait.since_shift"], l.memory.word(l["coarse_now"], 4)
        ahead = (coarse - (now >> shift)) & 0xffffffff
        return now + (ahead << shift) if ahead < 1 << 31 else now

    def add_frame(self, address, data):
        l = self.layout
        handle, word = l.field("fiber.handle", data), l.field("fiber.word", data)
        number, later = handle & l["handle.id_mask"], handle & l["handle.later"]
        state = l.states.get(word & l["word.state_mask"], "idle")
        if number == 0 or (state == "assigned" and not later):
            return
        f = Fiber(address, number, word)
        f.state = STATES[state]
        f.worker = (word & l["word.owner_mask"]) >> l["word.owner_shift"]
        stack, home = l.field("fiber.stack", data), l.field("fiber.home", data)
        f.stack = stack if stack >= l["stack.orders"] else 0
        if f.stack and state in ("parked", "notified", "queued"):
            f.sp = l.field("fiber.sp", data)
        f.place = l.field("fiber.place", data)
        if f.place == address | 1:
            f.place = 0
        if home & l["home.named"]:
            f.name = l.text("fiber.name", data)
        if later:
            f.deadline = l.field("fiber.later_deadline", data)
        elif l.field("fiber.arg", data) == address + l["fiber.child"]:
            f.nursery = l.field("fiber.child_nursery", data) & ~l["child.daemon"]
            f.function = self.function(data)
            self.add_nursery(f.nursery)
        elif not f.stack and f.state == "queued":
            f.function = l.field("fiber.main", data)
        if not f.name:
            f.name = self.place(f.place)[0]
        self.fibers.append(f)

    def function(self, data):
        """What the program spawned: captures in a frame lie behind the function, others may be gone."""
        l = self.layout
        main, calls = l.field("fiber.child_main", data), l.entry.get("capture_calls", (0, 0))[0]
        if calls == 0:
            return main
        if main == l.at("capture_calls.in_frame", calls):
            try:
                return l.at("fiber.main", l.field("fiber.child_arg", data))
            except Missing:
                return 0
        return 0 if main in (l.at("capture_calls.in_piece", calls),
                             l.at("capture_calls.in_memory", calls)) else main

    def add_nursery(self, address):
        if address and address not in self.nurseries:
            try:
                self.nurseries[address] = Nursery(address, self.layout)
            except Missing:
                self.nurseries[address] = None

    def add_memberships(self, who, member):
        """Nurseries that `who` owns, from the innermost outwards."""
        l = self.layout
        try:
            if member & l["member.locals"]:
                member = l.at("locals.member", member & ~1)
            if member & l["member.branches"]:
                member = l.at("branches.member", member & ~3)
            for _ in range(NEST_MOST):
                if member == 0 or member % 8:
                    return
                scope = l.at("member.scope", member)
                if member == scope + l["nursery.inside"] and l.at("nursery.owner", scope) == who:
                    self.add_nursery(scope)
                member = l.at("member.outer", member)
        except Missing:
            return

    def read_stack(self, f):
        if not f.stack or f.state == "done":
            return
        l = self.layout
        try:
            data = self.memory.get(f.stack, l["stack"])
        except Missing:
            return
        self.add_memberships(f.address, l.field("stack.member", data))
        base = l["stack.wait"]
        if l.states.get(f.word & l["word.state_mask"]) == "parked":
            timer = f.stack + l.field("stack.alarm", data)
            if (l.at("timer.object", timer) == f.address
                    and l.at("timer.value", timer) == f.word & l["word.ticket_mask"]):
                f.deadline = l.at("timer.deadline", timer)
            self.read_wait(f, data, base)
        else:
            who = l.field("wait.parker", data, base)
            if f.state == "running" and who not in (0, f.address):    # it runs the task it joins
                f.wait = "task"
                f.task = l.at("fiber.handle", who) & l["handle.id_mask"]

    def read_wait(self, f, data, base, which=0):
        l = self.layout
        f.wait = "other"
        if l.field("wait.ticket", data, base) != f.word & l["word.ticket_mask"]:
            return
        what = l.kinds.get(l.field("wait.for", data, base) & l["wait.for_mask"], "other")
        shift = l["wait.since_shift"]
        age = ((self.now >> shift) - l.field("wait.since", data, base)) & 0xffffffff
        f.since = self.now - (age << shift)
        f.wait = KINDS.get(what, what)
        lock, io = l.field("wait.lock", data, base), l.field("wait.io", data, base)
        try:
            if f.wait in ON_WORDS:
                f.object = which or (l.memory.word(io + l["sleeper.word"])
                                     if f.id and what != "shared" else 0)
            elif f.wait == "task":
                f.task = l.at("fiber.handle", lock - l["fiber.joiners"]) & l["handle.id_mask"]
            elif f.wait == "nursery":
                f.object = io - l["nursery.over"]
            elif f.wait == "token":
                f.object = io
            elif f.wait in ("recv", "send"):
                f.object = lock - l["chan.lock"]
                if what == "chan" and not l.at("chan.receivers", f.object):
                    f.wait = "send"
        except Missing:
            pass
        if f.wait not in WAITS:
            f.wait = "other"

    def add_thread(self, address, data):
        l = self.layout
        live, word = l.field("thread.live", data), l.field("thread.word", data)
        if live == l["live.none"]:
            return
        self.add_memberships(address, l.field("thread.member", data))
        if live == l["live.worker"] or l.states.get(word & l["word.state_mask"]) != "parked":
            return
        base = l["thread.wait"]
        if l.kinds.get(l.field("wait.for", data, base) & l["wait.for_mask"]) == "job":
            return
        f = Fiber(address, 0, word)
        deadline = l.field("thread.deadline", data)
        f.deadline = deadline if deadline < (1 << 63) - 1 else None
        self.read_wait(f, data, base, l.field("thread.which", data))
        self.threads.append(f)

    # -- words --

    def place(self, place):
        """(name, line) of where something was created."""
        if place in (0, (1 << 64) - 1):
            return "", ""
        if not place >> 63:
            return "", symbol(place, True)
        try:
            text = self.memory.get(~place & (1 << 64) - 1, 120).split(b"\0")[0].decode()
        except (Missing, UnicodeDecodeError):
            return "", ""
        name, _, line = text.partition(" ")
        return name[:15], line

    def channel_name(self, address):
        l = self.layout
        try:
            data = self.memory.get(address, l["chan"])
            return l.text("chan.name", data) or self.place(l.field("chan.place", data))[0]
        except Missing:
            return ""

    def wait_text(self, f):
        text = WAITS[f.wait]
        if f.wait == "task":
            text += f" {f.task}"
        elif f.object:
            text += f" {f.object:#x}"
        if f.wait in ("recv", "send") and (name := self.channel_name(f.object)):
            text += f" '{name}'"
        if f.wait == "none" and f.state == "queued" and f.deadline is not None:
            text = "to begin"
        if f.deadline is not None:
            left = (f.deadline - self.now) / 1e9
            text += (", " if text else "") + (f"until {left:.1f} s from now" if left >= 0
                                              else f"until {-left:.1f} s ago")
        return text

    def line(self, f, count=1):
        who = f"fiber {f.id}" if f.id else f"thread {f.address:#x}"
        state = f"running on worker {f.worker}" if f.state == "running" else f.state
        text = f"{who}{' ' + repr(f.name) if f.name else ''}: {state}"
        if f.since is not None:
            text += f" for {max(self.now - f.since, 0) / 1e9:.1f} s"
        if wait := self.wait_text(f):
            text += f", waits {wait}"
        if f.function:
            text += f"; runs {symbol(f.function)}"
        return text + (f" (and {count - 1} more like this)" if count > 1 else "")


SYMBOLS = {}


def symbol(address, call=False):
    """work (app.c:12) of an address of code."""
    address -= call
    if address not in SYMBOLS:
        text = gdb.execute(f"info symbol {address:#x}", to_string=True)
        name = text.split()[0] if " in section" in text else f"{address:#x}"
        try:
            sal = gdb.find_pc_line(address)
        except gdb.error:
            sal = None
        if sal is not None and sal.symtab is not None:
            name += f" ({sal.symtab.filename.rsplit('/', 1)[-1]}:{sal.line})"
        SYMBOLS[address] = name
    return SYMBOLS[address]


def folded(fibers, everything=False):
    """(the first, how many) of those that are alike."""
    if everything:
        return [(f, 1) for f in fibers]
    groups = {}
    for f in fibers:
        groups.setdefault(f.key(), [f, 0])[1] += 1
    return [tuple(g) for g in groups.values()]


def take():
    try:
        return Snapshot()
    except Missing as error:
        raise gdb.GdbError(f"libccc: {error}") from error


# ---- a fiber's stack -----------------------------------------------------------------------

# Names of registers by their DWARF numbers.
REGISTERS = {
    "i386:x86-64": {3: "rbx", 6: "rbp", 7: "rsp", 12: "r12", 13: "r13", 14: "r14", 15: "r15", 16: "rip"},
    "aarch64": {**{i: f"x{i}" for i in range(19, 31)}, 31: "sp"},
}


class FrameId:
    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


class ParkedUnwinder(gdb.unwinder.Unwinder):
    """The caller of the thread's innermost frame is the fiber that has been chosen."""

    def __init__(self):
        super().__init__("libccc-fiber")
        self.chosen = None      # (thread, its own pc and sp, the fiber's registers, its sp)
        self.level = 0          # of the fiber's first frame; functions may be inlined into the thread's

    def choose(self, fiber, layout):
        names = REGISTERS.get(gdb.selected_inferior().architecture().name())
        if names is None:
            raise gdb.GdbError("libccc: no registers are known for this CPU")
        memory, values = layout.memory, {}
        for number, name in names.items():
            if f"context.r{number}" in layout.entry:
                values[name] = memory.word(fiber.sp + layout[f"context.r{number}"])
        values[names[layout["context.sp_register"]]] = fiber.sp + layout["context.size"]
        pc = memory.word(fiber.sp + layout["context.pc"])
        values["pc" if "rip" not in names.values() else "rip"] = pc
        thread = gdb.newest_frame()
        own = (thread.pc(), int(thread.read_register("sp")))
        self.chosen = (gdb.selected_thread().ptid, own, values, fiber.sp)
        gdb.invalidate_cached_frames()
        frame = gdb.newest_frame()
        while frame.older() is not None and (frame.pc(), int(frame.read_register("sp"))) == own:
            frame = frame.older()
        self.level = frame.level()
        frame.select()

    def forget(self):
        if self.chosen is not None:
            self.chosen = None
            gdb.invalidate_cached_frames()

    def __call__(self, pending):
        if self.chosen is None or gdb.selected_thread() is None:
            return None
        ptid, own, values, sp = self.chosen
        pc = pending.read_register("pc")
        if (gdb.selected_thread().ptid != ptid
                or (int(pc) & (1 << 64) - 1, int(pending.read_register("sp"))) != own):
            return None
        info = pending.create_unwind_info(FrameId(gdb.Value(sp).cast(pc.type), pc))
        for name, value in values.items():
            info.add_saved_register(name, gdb.Value(value).cast(pending.read_register(name).type))
        return info


UNWINDER = ParkedUnwinder()


class WithoutThread:
    """While a fiber is chosen, a backtrace begins with the fiber."""

    def __init__(self):
        self.name, self.enabled, self.priority = "libccc-fiber", True, 100
        gdb.frame_filters[self.name] = self

    def filter(self, frames):
        for frame in frames:
            if UNWINDER.chosen is None or frame.inferior_frame().level() >= UNWINDER.level:
                yield frame


def thread_of(snapshot, fiber):
    """The thread that runs a fiber: its stack pointer lies on the fiber's stack; or None."""
    l = snapshot.layout
    place = l.at("stack.place", fiber.stack)
    order, bottom = place & l["place.order_mask"], place & l["place.bottom_mask"]
    runtime = l.at("fiber.home", fiber.address) & ~l["home.mask"]
    shelf = runtime + l["runtime.shelf"] + order * l["shelf"]
    size = l.at("shelf.size", shelf) - l.at("shelf.guard", shelf)
    before = gdb.selected_thread()
    found = None
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        if bottom <= int(gdb.parse_and_eval("(unsigned long)$sp")) < bottom + size:
            found = thread
    before.switch()
    return found


def choose(snapshot, number):
    """The stack of that fiber is what gdb sees from here on.  False: it has none."""
    fiber = snapshot.by_id.get(number)
    if fiber is None:
        raise gdb.GdbError(f"libccc: there is no fiber {number}")
    UNWINDER.forget()
    if fiber.sp:
        UNWINDER.choose(fiber, snapshot.layout)
        return True
    if fiber.state == "running" and fiber.stack and (thread := thread_of(snapshot, fiber)):
        thread.switch()
        return True
    return False


# ---- commands --------------------------------------------------------------------------------


class InfoFibers(gdb.Command):
    """What the fibers of libccc do, and the threads that wait in it.
info fibers [-all] [-json]
Fibers that do the same are one line; with -all each is a line of its own."""

    def __init__(self):
        super().__init__("info fibers", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        del from_tty
        words = argument.split()
        s = take()
        rows = folded(s.fibers + s.threads, "-all" in words)
        if "-json" in words:
            return self.print_json(s, rows)
        print(f"{len(s.fibers)} fibers, {len(s.threads)} threads wait, "
              f"{sum(n is not None for n in s.nurseries.values())} nurseries")
        for f, count in rows:
            print("  " + s.line(f, count))
        return None

    @staticmethod
    def print_json(s, rows):
        import json    # seldom needed
        for f, count in rows:
            row = {"kind": "fiber" if f.id else "thread", "id": f.id, "name": f.name, "state": f.state,
                   "wait": f.wait, "object": hex(f.object), "task": f.task, "nursery": hex(f.nursery),
                   "function": hex(f.function),
                   "since_ns": -1 if f.since is None else s.now - f.since, "count": count}
            if f.deadline is not None:
                row["deadline_ns"] = f.deadline - s.now
            print(json.dumps(row))


class InfoNurseries(gdb.Command):
    """Nurseries of libccc with their children, below their owners.
info nurseries"""

    def __init__(self):
        super().__init__("info nurseries", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        del argument, from_tty
        s = take()
        self.s, self.printed = s, set()
        self.owned, self.children = {}, {}
        for n in s.nurseries.values():
            if n is not None:
                self.owned.setdefault(n.owner, []).append(n)
        for f in s.fibers:
            self.children.setdefault(f.nursery, []).append(f)
        threads = {t.address: t for t in s.threads}
        for owner in self.owned:
            if owner not in s.by_address:
                print(s.line(threads[owner]) if owner in threads
                      else f"thread {owner:#x}: outside of any wait")
                self.print_owned(owner, 1)
        self.print_fibers(self.children.get(0, []), 0)
        for owner in self.owned:    # what was not reached
            self.print_owned(owner, 0)

    def print_owned(self, owner, depth):
        for n in sorted(self.owned.get(owner, []), key=lambda n: -n.address):
            if n.address in self.printed or depth > 200:
                continue
            self.printed.add(n.address)
            line = self.s.place(n.place)[1]
            print("  " * depth + f"nursery {n.address:#x}: {n.children} "
                  f"{'child' if n.children == 1 else 'children'}, {POLICIES[n.policy]}"
                  f"{', cancelled' if n.cancelled else ''}{', is being joined' if n.sealed else ''}"
                  f"{', created at ' + line if line else ''}")
            self.print_fibers(self.children.get(n.address, []), depth + 1)

    def print_fibers(self, fibers, depth):
        for f in fibers:
            if f.address in self.owned:
                print("  " * depth + self.s.line(f))
                self.print_owned(f.address, depth + 1)
        for f, count in folded([f for f in fibers if f.address not in self.owned]):
            print("  " * depth + self.s.line(f, count))


class InfoWaits(gdb.Command):
    """Which objects of libccc are waited for, and by which fibers.
info waits [-dot]
With -dot as a graph for Graphviz: an arrow leads from a fiber to what it waits for, and from a
nursery to the children that it waits for."""

    def __init__(self):
        super().__init__("info waits", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        del from_tty
        s = take()
        waits = [f for f in s.fibers + s.threads if f.wait not in ("none", "sleep")]
        if "-dot" in argument.split():
            return self.print_dot(s, waits)
        objects = {}
        for f in waits:
            what = {"recv": "channel", "send": "channel"}.get(f.wait, f.wait)
            objects.setdefault((what, f.task or f.object), []).append(f)
        for (what, which), sleepers in objects.items():
            name = f" {which}" if what == "task" else f" {which:#x}" if which else ""
            print(f"{what}{name}: {len(sleepers)} {'waits' if len(sleepers) == 1 else 'wait'}")
            for f, count in folded(sleepers):
                print("  " + s.line(f, count))
        return None

    @staticmethod
    def print_dot(s, waits):
        print("digraph waits {")
        for f, count in folded(waits):
            me = f"fiber {f.id}" if f.id else f"thread {f.address:#x}"
            label = me + (f" '{f.name}'" if f.name else "") + (f" +{count - 1}" if count > 1 else "")
            to = f"fiber {f.task}" if f.task else f"{f.wait.replace('recv', 'channel')} {f.object:#x}"
            print(f'  "{me}" [shape=box,label="{label}"];')
            print(f'  "{me}" -> "{to.replace("send", "channel")}" [label="{f.wait}"];')
        for f, count in folded([f for f in s.fibers if f.nursery]):
            print(f'  "nursery {f.nursery:#x}" -> "fiber {f.id}" [style=dashed];')
        print("}")


class FiberCommand(gdb.Command):
    """Choose the fiber of libccc whose stack gdb sees.
fiber N: bt, up, down, frame and info locals are those of fiber N, until the program goes on.  The
innermost frame remains the thread's own, so those of the fiber begin with frame 1 or 2.
fiber: back to the stack of the thread.
fiber apply all|N... COMMAND: the command on the stack of each."""

    def __init__(self):
        super().__init__("fiber", gdb.COMMAND_STACK, prefix=True)

    def invoke(self, argument, from_tty):
        if not argument:
            UNWINDER.forget()
            print("[the stack of the thread]")
            return
        if not argument.isdigit():
            raise gdb.GdbError("fiber N, fiber, or fiber apply all|N... COMMAND")
        s = take()
        there = choose(s, int(argument))
        print(f"[{s.line(s.by_id[int(argument)])}]")
        if there:
            gdb.execute("frame", from_tty)
        else:
            print("It has no stack that can be shown: it has not begun, has ended, or runs in another thread.")


class FiberApply(gdb.Command):
    """A command on the stack of each fiber of libccc.
fiber apply all|N... COMMAND"""

    def __init__(self):
        super().__init__("fiber apply", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        words = argument.split()
        numbers = []
        while words and (words[0] == "all" or re.fullmatch(r"\d+(-\d+)?", words[0])):
            numbers.append(words.pop(0))
        if not numbers or not words:
            raise gdb.GdbError("fiber apply all|N... COMMAND")
        s, command, before = take(), " ".join(words), gdb.selected_thread()
        for number in self.chosen(s, numbers):
            try:
                there = choose(s, number)
                print(f"\n{s.line(s.by_id[number])}")
                if there:
                    gdb.execute(command, from_tty)
            except gdb.error as error:
                print(f"  {error}")
            finally:
                UNWINDER.forget()
                before.switch()

    @staticmethod
    def chosen(s, words):
        for word in words:
            if word == "all":
                yield from sorted(s.by_id)
            else:
                low, _, high = word.partition("-")
                yield from (n for n in sorted(s.by_id) if int(low) <= n <= int(high or low))


# ---- printers of public types -----------------------------------------------------------------


class Printer:
    """A value in words; the fields follow as they are."""

    def __init__(self, value, words):
        self.value, self.words = value, words

    def to_string(self):
        try:
            return self.words(self.value)
        except (Missing, gdb.error, KeyError):
            return None


def channel_words(value):
    address = int(value)
    if address == 0:
        return "NULL"
    memory = Memory()
    l = Layout(memory)
    data = memory.read(address, l["chan"])
    name = l.text("chan.name", data)
    text = f"{address:#x} channel{' ' + repr(name) if name else ''}, capacity {l.field('chan.capacity', data)}, "
    text += f"elements of {l.field('chan.size', data)} bytes"
    for list_name, what in (("chan.senders", "senders"), ("chan.receivers", "receivers")):
        if l.field(list_name, data):
            text += f", {what} wait"
    return text + (", closed" if l.field("chan.closed", data) else "")


def task_words(value):
    number, frame = int(value["id"]), int(value["frame"])
    if number == 0:
        return "no task"
    memory = Memory()
    l = Layout(memory)
    data = memory.read(frame, l["fiber"])
    if l.field("fiber.handle", data) & l["handle.id_mask"] != number:
        return f"task {number}, which has ended"
    name = l.text("fiber.name", data) if l.field("fiber.home", data) & l["home.named"] else ""
    state = STATES[l.states[l.field("fiber.word", data) & l["word.state_mask"]]]
    return f"task {number}{' ' + repr(name) if name else ''}, {state}"


def nursery_words(value):
    memory = Memory()
    try:
        n = Nursery(int(value.address), Layout(memory))
    except Missing:
        return "nursery, not open"
    return f"nursery, {n.children} children, {POLICIES[n.policy]}{', cancelled' if n.cancelled else ''}"


def lock_words(value):
    word = int(value["word"])
    return f"word {word:#x}" + (", free" if word == 0 else "")


def find_printer(value):
    kind = value.type.unqualified()
    if kind.strip_typedefs().code == gdb.TYPE_CODE_PTR:
        target = kind.strip_typedefs().target().unqualified()
        return Printer(value, channel_words) if "CCChan" in (target.name, target.tag) else None
    names = {kind.name, kind.strip_typedefs().tag}
    for name, words in (("CCTask", task_words), ("CCNursery", nursery_words), ("CCMutex", lock_words),
                        ("CCRwlock", lock_words)):
        if name in names:
            return Printer(value, words)
    return None


find_printer.name = "libccc"


def register():
    """Once, however often gdb loads this file."""
    if getattr(gdb, "libccc_registered", False):
        return
    gdb.libccc_registered = True
    gdb.unwinder.register_unwinder(None, UNWINDER, True)
    gdb.events.cont.connect(lambda event: UNWINDER.forget())
    gdb.events.exited.connect(lambda event: UNWINDER.forget())
    gdb.events.new_objfile.connect(lambda event: SYMBOLS.clear())
    WithoutThread()
    gdb.pretty_printers.append(find_printer)
    for command in (InfoFibers, InfoNurseries, InfoWaits, FiberCommand, FiberApply):
        command()


register()
