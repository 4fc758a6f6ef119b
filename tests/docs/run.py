#!/usr/bin/env python3
"""run.py DOCUMENTATION [PART...]: the documentation of an installed library does what it says.

Builds and runs what the directory has, with the `cc` and `pkg-config` of PATH, in a directory of its
own.  It needs nothing of the source tree, so it also runs where only the packages are installed.

  commands  the `sh` blocks of the tutorial, in order, and the output that stands after one
  tutorial  every step, and what it does with files, errors, deadlines, clients and signals
  cookbook  every program; skipped where its library is missing
  examples  the programs of the manual pages, and those of examples/
  overview  the program and the commands of ccc(7), and of section 1
"""
import glob
import gzip
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

LIBRARIES = {"lua": "lua5.4", "sqlite": "sqlite3", "openssl": "openssl"}
FLAGS = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"]
passed, failed, skipped = 0, 0, 0


def check(name, good, why=""):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print(f"FAIL  {name}: {why}")


def skip(name, why):
    global skipped
    skipped += 1
    print(f"skip  {name}: {why}")


def config(*packages):
    run = subprocess.run(["pkg-config", "--cflags", "--libs", *packages], text=True,
                         capture_output=True, check=False)
    return shlex.split(run.stdout) if run.returncode == 0 else None


def build(source, *packages):
    """The program made of a source file; None after a failure, which is counted."""
    program = os.path.abspath("./" + os.path.basename(source)[:-2])
    run = subprocess.run(["cc", *FLAGS, "-o", program, source, *config("ccc", *packages), "-lm"],
                         text=True, capture_output=True, check=False)
    if run.returncode:
        check(source, False, run.stderr)
        return None
    return program


def output(program, *arguments):
    run = subprocess.run([program, *arguments], text=True, capture_output=True, timeout=120, check=False)
    return run.returncode, run.stdout, run.stderr


# ---- commands --------------------------------------------------------------------------


def commands(doc):
    for path in glob.glob(f"{doc}/tutorial/*.c"):
        shutil.copy(path, ".")
    with open(f"{doc}/tutorial.md", encoding="utf-8") as f:
        text = f.read()
    blocks = re.findall(r"^```(\w*)\n(.*?)^```\n", text, re.S | re.M)
    check("tutorial.md", sum(b[0] == "sh" for b in blocks) >= 5, "too few commands")
    for i, (kind, block) in enumerate(blocks):
        if kind != "sh":
            continue
        run = subprocess.run(["sh", "-ec", block], text=True, capture_output=True, timeout=120, check=False)
        check(block, run.returncode == 0, run.stderr)
        if i + 1 < len(blocks) and blocks[i + 1][0] == "":
            check(block, run.stdout == blocks[i + 1][1], run.stdout)


# ---- tutorial --------------------------------------------------------------------------


def tutorial(doc):
    with open("one", "w", encoding="utf-8") as f:
        f.write("a few words\nin two lines\n")
    with open("two", "w", encoding="utf-8") as f:
        f.write("three  more words")
    steps = sorted(glob.glob(f"{doc}/tutorial/*.c"))
    check("tutorial", len(steps) == 10, f"{len(steps)} steps")
    step = {os.path.basename(s)[:2]: build(s) for s in steps}
    if failed:
        return
    check("01", output(step["01"]) == (0, "hello from a task\nthe task has ended\n", ""), "output")
    check("02", output(step["02"], "one", "two")[:2] == (0, "     6 one\n     3 two\n"), "output")
    check("02", output(step["02"], "one", "none")[0] == 1, "a file that is missing")
    status, text, _ = output(step["03"], "one", "two")
    check("03", status == 0 and sorted(text.splitlines()) == ["     3 two", "     6 one", "     9 total"],
          text)
    for number in ("04", "05"):
        check(number, output(step[number], *["one", "two"] * 50)[:2] == (0, "   450 total\n"), "output")
    status, text, errors = output(step["05"], *["one"] * 20, "none", *["one"] * 20)
    check("05", (status, text) == (1, "") and errors == "none: No such file or directory\n", errors)
    os.mkfifo("pipe")
    held = os.open("pipe", os.O_RDWR)	# a pipe that is open and silent
    status, text, _ = output(step["06"], "0.2", "one", "pipe")
    check("06", status == 1 and "     6 one\n" in text and "out of time" in text, text)
    os.close(held)
    check("06", output(step["06"], "60", "one", "two")[:2] == (0, "     6 one\n     3 two\n"), "output")
    check("07", output(step["07"], *["one", "two"] * 10)[:2] == (0, "20 files, 90 words\n"), "output")
    for number in ("08", "09", "10"):
        server(step[number], number)


def dial(line):
    host, port = line.split()[-1].rsplit(":", 1)
    s = socket.create_connection((host, int(port)), timeout=60)
    return s, s.makefile("rw", encoding="utf-8", newline="\n")


def server(program, number):
    """Two clients; what else the step promises; and the end."""
    with subprocess.Popen([program], text=True, stdout=subprocess.PIPE) as process:
        where = process.stdout.readline()
        check(number, where.startswith("listening on 127.0.0.1:"), where)
        clients = [dial(where) for _ in range(3)]
        for _, c in clients[:2]:
            c.write("some words here\n\nmore\n")
            c.flush()
        for _, c in clients[:2]:
            check(number, [c.readline() for _ in range(3)] == ["3\n", "0\n", "1\n"], "answers")
        if number == "09":
            check(number, clients[2][1].readline() == "", "a silent client is closed")
        if number == "10":
            s, c = clients[2]
            c.write("this line has ")	# begun when the signal comes
            c.flush()
            other, d = dial(where)	# its answer shows that the server has read what came before
            d.write("x\n")
            d.flush()
            check(number, d.readline() == "1\n", "answer")
            process.send_signal(signal.SIGTERM)
            check(number, clients[0][1].readline() == "", "idle clients are closed at once")
            c.write("begun\n")
            c.flush()
            answer = c.readline()
            check(number, answer == "4\n", f"a line that has begun is answered: {answer!r}")
            check(number, process.wait(60) == 0, "exit status")
            check(number, process.stdout.read() == "8 lines, 13 words\n", "totals")
            other.close()
        else:
            process.kill()
        for s, c in clients:
            c.close()
            s.close()


# ---- cookbook and examples ---------------------------------------------------------------


def programs(doc, folder, least):
    paths = sorted(glob.glob(f"{doc}/{folder}/*.c"))
    check(folder, len(paths) >= least, f"{len(paths)} programs")
    for path in paths:
        name = os.path.basename(path)[:-2]
        library = [LIBRARIES[name]] if name in LIBRARIES else []
        if library and config(*library) is None:
            skip(name, f"no {library[0]}")
            continue
        program = build(path, *library)
        if program:
            status, text, errors = output(program)
            check(path, status == 0, errors)
            expected = path[:-2] + ".txt"
            if os.path.exists(expected):
                with open(expected, encoding="utf-8") as f:
                    check(path, text == f.read(), text)


def cookbook(doc):
    programs(doc, "cookbook", 14)


def examples(doc):
    programs(doc, "man3.examples", 20)
    programs(doc, "examples", 10)


def page(doc, name):
    """The source of a page that is installed beside the documentation."""
    path = glob.glob(f"{doc}/../../man/man{name[-1]}/{name}*")[0]
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as f:
        return f.read()


def overview(doc):
    shutil.copy(f"{doc}/tutorial/01_hello.c", "hello.c")
    os.mkdir("documents")
    for name in ("data", "documents/a", "documents/b"):
        with open(name, "w", encoding="utf-8") as f:
            f.write("some text\n" * 1000)
    for name in ("ccc.7", "ccgz.1", "ccsum.1", "ccc-trace.1"):
        blocks = [b for b in re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed$", page(doc, name), re.S | re.M)
                  if re.match(r"(?:cc|cc\w+|CC_TRACE=\S+) ", b)]
        check(name, blocks, "no commands")
        for block in blocks:
            run = subprocess.run(["sh", "-ec", block], text=True, capture_output=True, timeout=120,
                                 check=False)
            check(f"{name}: {block}", run.returncode == 0, run.stderr)
        if name == "ccc.7":
            shutil.copy("hello", "server")


PARTS = {"commands": commands, "tutorial": tutorial, "cookbook": cookbook, "examples": examples,
         "overview": overview}


def main():
    doc = os.path.abspath(sys.argv[1])
    for name in sys.argv[2:] or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            PARTS[name](doc)
            os.chdir("/")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
