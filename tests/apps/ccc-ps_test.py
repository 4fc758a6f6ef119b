"""ccc-ps_test PROGRAM: ccc-ps, the gdb script and cc_dump_as say the same of one process, alive and as
a core, with the static and the shared library; bad input is refused and never crashes the reader."""
import collections
import json
import os
import random
import re
import shutil
import subprocess
import unittest

import run

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
TESTS = os.path.join(os.path.dirname(run.PROGRAM), "..", "tests")
SCRIPT = os.path.join(ROOT, "tools", "gdb", "ccc-gdb.py")
LIBRARIES = ("ps_waits", "ps_waits_shared")
# What all three say of a fiber.
KEYS = ("kind", "id", "name", "state", "wait", "object", "task", "nursery", "function")
# With these words gdb can write a core, where the kernel hands its cores to another program.
with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as f:
    BY_GDB = ["split"] if f.read().startswith(("|", "/")) else []
REFUSED = "ptrace: Operation not permitted|Could not trace the inferior|may not be read"


def rows(text):
    """(how many, and each of the keys) of JSON lines."""
    found = collections.Counter()
    for line in text.splitlines():
        row = json.loads(line) if line.startswith("{") else {}
        if row.get("kind") in ("fiber", "thread"):
            found[tuple(row[k] for k in KEYS)] += row["count"]
    return found


# The functions of ps_waits that wait.
WAITING = ("worker", "keep_ledger", "report", "read_ledger")


def normal(text):
    """Without what differs from run to run, nor what the compiler decides: which calls of the library
    have frames of their own."""
    text = re.sub(r"(?m)^ {8}(?!\(spawned)(\S+) \(.*\)$\n?",
                  lambda call: f"        {call[1]}\n" if call[1] in WAITING else "", text)
    text = re.sub(r"0x[0-9a-f]+", "0x...", text)
    text = re.sub(r"\b\d+\.\d s\b", "1.0 s", text)
    text = re.sub(r"\(\d+\)", "(4711)", text)
    text = re.sub(r"\d+ workers?, \d+ stacks", "N workers, N stacks", text)
    text = re.sub(r"(?m)^ +(worker \d+ .*|\d+ workers? sleeps?)\n", "", text)
    text = re.sub(r":\d+\)", ":1)", text)
    text = re.sub(r"\.c:\d+\b", ".c:1", text)
    text = re.sub(r"/\S*/", "", text)
    # Some workers have met another one at the lock.
    parts = [part for part in text.split("\n\n") if "meet_locked" not in part]
    return re.sub(r"(and|\+)[ ]?\d+ more", "and N more", re.sub(r" +", " ", "\n\n".join(parts)))


class Process:
    """A ps_waits that waits for commands."""

    def __init__(self, test, *args, program="ps_waits", folder=None):
        self.path = program if os.sep in program else os.path.join(TESTS, program)
        if not os.path.exists(self.path):
            test.skipTest(f"no {self.path}")
        self.folder = folder or test.dir
        self.child = subprocess.Popen([self.path, *args], cwd=self.folder, text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      env={**os.environ, "CC_WORKERS": "2"})
        test.addCleanup(self.end)
        test.assertEqual(self.child.stdout.readline(), "ready\n")

    @property
    def pid(self):
        return str(self.child.pid)

    def say(self, word):
        self.child.stdin.write(word + "\n")
        self.child.stdin.flush()

    def dump(self):
        self.say("dump")
        return "".join(iter(self.child.stdout.readline, "end\n"))

    def end(self):
        self.child.kill()
        self.child.wait()
        self.child.stdin.close()
        self.child.stdout.close()

    def core(self, test):
        """A core by the kernel, or by gdb where the kernel hands cores to another program."""
        if BY_GDB:
            path = os.path.join(self.folder, "core")
            gdb(test, ["-p", self.pid], f"generate-core-file {path}")
            return path
        self.say("abort")
        self.child.wait()
        found = [n for n in os.listdir(self.folder) if n.startswith("core")]
        if not found:
            test.skipTest("the system writes no core")
        return os.path.join(self.folder, found[0])


def gdb(test, args, *commands, script=True):
    """What gdb prints."""
    if shutil.which("gdb") is None:
        test.skipTest("no gdb")
    run_args = ["gdb", "-nx", "-batch", "-iex", "set auto-load off", "-ex", "set pagination off",
                "-ex", "set width 0", "-iex", "set debuginfod enabled off"]
    run_args += ["-x", SCRIPT] if script else []
    for command in commands:
        run_args += ["-ex", command]
    done = subprocess.run(run_args + args, capture_output=True, text=True, timeout=run.TIMEOUT,
                          check=False, stdin=subprocess.DEVNULL)
    if re.search(REFUSED, done.stderr):
        test.skipTest("gdb may not trace here")
    test.assertNotIn("Traceback", done.stderr)
    return done.stdout + done.stderr


class PsTest(run.AppTest):
    def look(self, *args, status=0):
        done = self.run_program(*args)
        text = done.stderr.decode()
        if done.returncode == 1 and re.search(REFUSED, text):
            self.skipTest("another process may not be read here")
        self.assertEqual(done.returncode, status, f"{args}: {text}")
        return done.stdout.decode()

    def both_threads(self, process):
        """The dump, once both threads wait too."""
        for _ in range(1000):
            dump = process.dump()
            if dump.count('"kind":"thread"') == 2:
                return rows(dump)
        self.fail("the threads do not wait")
        return None

    # ---- dump, ccc-ps and gdb ----

    def test_three_readers_agree_on_a_process_and_on_its_core(self):
        for program in LIBRARIES:
            with self.subTest(program=program):
                folder = self.path(program)
                os.mkdir(folder)
                p = Process(self, "kinds", *BY_GDB, program=program, folder=folder)
                dump = self.both_threads(p)
                kinds = {row[4] for row in dump}
                self.assertEqual(kinds, {"none", "recv", "send", "select", "task", "nursery", "mutex",
                                         "rwlock", "cond", "semaphore", "once", "barrier",
                                         "wait_group", "token", "park_word", "sleep", "fd",
                                         "blocking"})
                self.assertEqual({row[3] for row in dump}, {"parked", "queued", "done"})
                self.assertEqual(rows(self.look("--json", p.pid)), dump)
                self.assertEqual(rows(gdb(self, ["-p", p.pid], "info fibers -json")), dump)
                core = p.core(self)
                self.assertEqual(rows(self.look("--json", "--core", core)), dump)
                self.assertEqual(rows(gdb(self, [p.path, core], "info fibers -json")), dump)

    def test_times_are_those_of_the_dump(self):
        p = Process(self, "kinds")

        def deadlines(text):
            return {r["name"]: r["deadline_ns"] / 1e9 for r in map(json.loads, text.splitlines())
                    if "deadline_ns" in r and r["kind"] == "fiber"}

        before = deadlines(p.dump())
        seen, after = deadlines(self.look("--json", p.pid)), deadlines(p.dump())
        self.assertGreaterEqual(set(seen), {"sleep", "recv_until"})
        for name, left in before.items():
            self.assertLessEqual(seen[name], left)
            self.assertGreaterEqual(seen[name], after[name])

    # ---- forms ----

    def test_equal_fibers_are_one_line(self):
        p = Process(self, "many", "2000")
        text = self.look(p.pid)
        self.assertRegex(text, r"2000 fibers \(2000 parked\)")
        self.assertRegex(text, r"\d+ \+1999 more +'worker' +parked .* to receive from channel 0x")
        self.assertEqual(len(self.look("--all", p.pid).splitlines()) - len(text.splitlines()), 1999)

    def test_stacks_name_the_calls(self):
        p = Process(self, "kinds")
        text = self.look("--stacks", p.pid)
        if "built without libdw" in text:
            self.skipTest("no libdw")
        for call in ("wait_recv", "wait_mutex", "wait_select", "wait_barrier", "wait_blocking"):
            self.assertRegex(text, rf"\n    {call} \(\S+:\d+\)")
        self.assertNotIn("cc__context_base", text)
        self.assertIn("cc__context_base", self.look("--stacks", "--full", p.pid))

    def test_stacks_of_a_shared_library_and_of_a_core(self):
        p = Process(self, "kinds", *BY_GDB, program="ps_waits_shared")
        if "built without libdw" in self.look("--stacks", p.pid):
            self.skipTest("no libdw")
        self.assertRegex(self.look("--stacks", p.pid), r"\n    wait_fd \(\S+:\d+\)")
        core = p.core(self)
        self.assertRegex(self.look("--stacks", "--core", core), r"\n    wait_fd \(\S+:\d+\)")

    def test_tree_shows_children_below_their_nurseries(self):
        p = Process(self, "kinds")
        text = self.look("--tree", p.pid)
        self.assertRegex(text, r"(?m)^thread 0x[0-9a-f]+: outside of any wait\n  nursery ")
        self.assertRegex(text, r"(?m)^    fiber \d+ 'nursery'.*\n      nursery 0x.*: 1 child,.*\n"
                               r"        fiber \d+ 'grandchild'")

    def test_watch_prints_again(self):
        p = Process(self, "many", "3")
        watch = subprocess.Popen([run.PROGRAM, "--watch=0.05", p.pid], stdout=subprocess.PIPE, text=True)
        seen = 0
        while seen < 3:
            line = watch.stdout.readline()
            self.assertNotEqual(line, "")
            seen += "3 fibers" in line
        p.end()
        watch.stdout.read()
        self.assertEqual(watch.wait(), 1)    # there is no such process any more
        watch.stdout.close()

    # ---- programs without symbols, other versions ----

    def test_stripped_program_is_read(self):
        if shutil.which("strip") is None:
            self.skipTest("no strip")
        copy = self.path("stripped")
        shutil.copy(os.path.join(TESTS, "ps_waits"), copy)
        subprocess.run(["strip", "-s", copy], check=True)
        p = Process(self, "many", "5", program=copy)
        self.assertIn("+4 more", self.look(p.pid))
        self.assertRegex(gdb(self, ["-p", p.pid], "info fibers"), r"and 4 more like this")

    def test_description_of_another_version_is_refused(self):
        with open(os.path.join(TESTS, "ps_waits"), "rb") as f:
            program = f.read()
        version = program.index(b"libccc\0\0\x01\0\0\0\x40\0\0\0") + 8
        copy = self.put("other", program[:version] + b"\x63" + program[version + 1:])
        os.chmod(copy, 0o755)
        p = Process(self, "many", "5", program=copy)
        done = self.run_program(p.pid)
        self.assertEqual(done.returncode, 4)
        self.assertIn(b"description has version 99; this ccc-ps reads version 1", done.stderr)
        self.assertIn("has a description of version 99", gdb(self, ["-p", p.pid], "info fibers"))

    # ---- bad input ----

    def test_bad_input_has_a_message_and_a_status(self):
        self.check(status=2, error="which process")
        self.check("nobody", status=2, error="not a process id: nobody")
        self.check("-1", status=2, error="usage")
        self.check("1", "2", status=2, error="one process at a time")
        self.check("--bad", "1", status=2, error="usage")
        self.check("--watch=x", "1", status=2, error="--watch needs seconds")
        self.check("--watch", "--core", "x", status=2, error="a core does not change")
        self.check("--color=red", "1", status=2, error="--color is")
        self.check("--core", status=2, error="--core needs FILE")
        self.check("999999999", status=1, error="there is no process 999999999")
        self.check("--core", self.path("none"), status=1, error="No such file")
        self.check("--core", self.put("empty", b""), status=1, error="the file is empty")
        self.check("--core", self.put("text", b"text" * 100), status=1, error="not a core file")
        self.check("--core", run.PROGRAM, status=1, error="not a core file")
        self.check("--core", self.dir, status=1, error="not a file")
        own = subprocess.Popen(["sleep", "100"])
        self.addCleanup(own.wait)
        self.addCleanup(own.kill)
        done = self.run_program(str(own.pid))
        self.assertIn(done.returncode, (1, 3))
        if done.returncode == 3:
            self.assertIn(b"no libccc, or one without a description, in process", done.stderr)

    def test_help_tells_each_status(self):
        text = self.check("--help").decode()
        self.assertRegex(text, r"Exit status: 0; 1 .*2 wrong.*\n3 .*; 4 .*\n5 ")

    def data_of(self, path):
        """(offset, size) of what a core has on the disk; the rest are zeros."""
        with open(path, "rb") as f:
            at, end = 0, os.fstat(f.fileno()).st_size
            while at < end:
                try:
                    at = os.lseek(f.fileno(), at, os.SEEK_DATA)
                except OSError:
                    return
                hole = os.lseek(f.fileno(), at, os.SEEK_HOLE)
                yield at, hole - at
                at = hole

    def test_truncated_core_is_survived(self):
        path = Process(self, "kinds", *BY_GDB).core(self)
        size = os.path.getsize(path)
        for share in (0.999, 0.9, 0.6, 0.3, 0.1, 0.01, 0.001, 0.0001):
            os.truncate(path, int(size * share))
            done = self.run_program("--tree", "--core", path)
            self.assertIn(done.returncode, (1, 5), f"{share}: {done.stderr.decode()}")
            self.assertIn(b"truncated" if done.returncode == 5 else b"core", done.stderr)

    def test_damaged_core_is_survived(self):
        """Any word may be wrong: so it is in a process that changes while it is read."""
        path = Process(self, "kinds", *BY_GDB).core(self)
        parts, rng = list(self.data_of(path)), random.Random(1)
        for turn in range(10):
            with open(path, "r+b") as f:
                for _ in range(3000):
                    at, size = rng.choice(parts)
                    f.seek(at + rng.randrange(size) // 8 * 8)
                    f.write(rng.randbytes(rng.choice((1, 2, 8))))
            for form in ("--tree", "--stacks"):
                done = self.run_program(form, "--core", path)
                self.assertIn(done.returncode, (0, 1, 3, 4, 5), f"{turn}: {done.stderr.decode()}")

    def test_process_that_changes_is_survived(self):
        p = Process(self, "busy")
        for form in ("--tree", "--json", "--stacks", "--all"):
            for _ in range(10):
                done = self.run_program(form, p.pid)
                if done.returncode == 1 and re.search(REFUSED, done.stderr.decode()):
                    self.skipTest("another process may not be read here")
                self.assertIn(done.returncode, (0, 5), done.stderr.decode())

    # ---- gdb ----

    def test_gdb_unwinds_any_of_many_fibers_of_a_core(self):
        p = Process(self, "many", "10000", *BY_GDB)
        core = p.core(self)
        text = gdb(self, [p.path, core], "info fibers", "fiber 4711", "bt", "fiber", "bt")
        self.assertRegex(text, r"10000 fibers, .*\n +fiber \d+ 'worker': parked .*and 9999 more like this")
        fiber, thread = text.split("[the stack of the thread]")
        self.assertRegex(fiber, r"\[fiber 4711 'worker': parked")
        self.assertRegex(fiber, r"#\d+ .*\bwait_recv \(")
        self.assertRegex(fiber, r"#\d+ .*\bcc__context_base \(")
        self.assertNotRegex(fiber, r"corrupt|inner to this frame")
        self.assertNotRegex(thread, r"\bwait_recv \(")

    def test_gdb_commands(self):
        p = Process(self, "kinds")
        text = gdb(self, ["-p", p.pid], "info nurseries", "info waits", "info waits -dot",
                   "fiber apply all bt", "fiber 99999", "print empty", "print joined", "print mutex",
                   "fiber 4", "up", "fiber apply 4-5 up 2")
        self.assertRegex(text, r"nursery 0x[0-9a-f]+: 1 child, the first error cancels it")
        self.assertRegex(text, r"mutex 0x[0-9a-f]+: 3 wait")
        self.assertRegex(text, r'"fiber \d+" -> "fiber \d+" \[label="task"\]')
        for call in ("wait_recv", "wait_cond", "wait_once", "wait_fd", "wait_sleep"):
            self.assertRegex(text, rf"#\d+ .*\b{call} \(")
        self.assertIn("there is no fiber 99999", text)
        self.assertRegex(text, r"\$1 = 0x[0-9a-f]+ channel, capacity 0, elements of 4 bytes, receivers wait")
        self.assertRegex(text, r"\$2 = task 1 'sleep', parked")
        self.assertRegex(text, r"\$3 = word 0x[0-9a-f]+")

    def test_gdb_goes_on_after_a_fiber_was_chosen(self):
        """The registers of the thread are its own: a process goes on where it was."""
        p = Process(self, "farm", "10")
        gdb(self, ["-p", p.pid], "fiber 4", "bt", "detach")
        self.assertIn('"name":"keeper"', p.dump())

    def test_documented_transcripts_are_what_is_printed(self):
        with open(os.path.join(ROOT, "docs", "ccc-ps.md"), encoding="utf-8") as f:
            page = f.read()
        p = Process(self, "farm", "9997")
        if "built without libdw" in self.look("--stacks", p.pid):
            self.skipTest("no libdw")
        shown = re.findall(r"    \$ ccc-ps (.*?)4711\n((?:    .*\n|\n(?=    ))*)", page)
        self.assertGreaterEqual(len(shown), 3)
        for options, text in shown:
            expected = normal(re.sub(r"(?m)^    ", "", text)).strip()
            self.assertEqual(normal(self.look(*options.split(), p.pid)).strip(), expected, options)


if __name__ == "__main__":
    run.main()
