#!/usr/bin/env python3
"""io.soak.py HTTPD KVD SECONDS: good and bad clients of both servers, all at once.

Every good answer must be right; a good client may only be refused while the server is being
restarted, stopped or short of descriptors.  Prints one JSON line: how many clients of each kind
there were, how many good answers, what was wrong, and what the servers held at the end.
"""
import collections
import contextlib
import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

LIMIT = 128  # descriptors of a server: clients of the kind `crowd` use them up
FILES = {"small": os.urandom(4096), "large": os.urandom(1 << 20)}

counts = collections.Counter()
errors = collections.Counter()
lock = threading.Lock()
stop = threading.Event()


def count(kind, error=None):
    with lock:
        counts[kind] += 1
        if error is not None:
            errors[f"{kind}: {error}"] += 1


class Server:
    """A server program that is restarted, stopped and continued."""

    def __init__(self, name, *command):
        self.name, self.command, self.port = name, command, 0
        self.busy = threading.Event()  # it is down, or about to be
        self.statuses = []
        self.start()

    def start(self):
        address = f"127.0.0.1:{self.port}"
        line = f'ulimit -n {LIMIT}; ulimit -v 4000000; exec "$@"'
        self.process = subprocess.Popen(
            ["sh", "-c", line, "sh", self.command[0], "-a", address, *self.command[1:]],
            stdout=subprocess.PIPE, text=True)
        text = self.process.stdout.readline()
        assert text.startswith("listening at "), text
        self.port = int(text.rsplit(":", 1)[1])

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.statuses.append(self.process.wait(30))
        except subprocess.TimeoutExpired:
            self.statuses.append("it does not end")
            self.process.kill()
        self.process.stdout.close()

    def restart(self):
        self.busy.set()
        self.end()
        self.start()
        self.busy.clear()

    def held(self):
        """(descriptors, resident kilobytes, threads)"""
        proc = f"/proc/{self.process.pid}"
        with open(f"{proc}/status", encoding="ascii") as f:
            fields = dict(line.split(":", 1) for line in f)
        return (len(os.listdir(f"{proc}/fd")), int(fields["VmRSS"].split()[0]),
                int(fields["Threads"]))

    def dial(self, patience=20):
        s = socket.create_connection(("127.0.0.1", self.port), patience)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return contextlib.closing(s)


def read_answer(f):
    status = f.readline()
    if not status:
        raise ConnectionError("closed")
    size = 0
    while (line := f.readline().strip()):
        if line.lower().startswith(b"content-length:"):
            size = int(line.split(b":")[1])
    body = f.read(size)
    if len(body) < size or status.split()[1] == b"503":
        raise ConnectionError("cut off, or no descriptor for the file")
    return int(status.split()[1]), body


def get(path, more=""):
    return f"GET /{path} HTTP/1.1\r\nHost: x\r\n{more}\r\n".encode()


# ---- clients of httpd ----

def http_good(s):
    name = random.choice(list(FILES))
    with s.dial() as c, c.makefile("rb") as f:
        for _ in range(random.randint(1, 20)):
            c.sendall(get(name))
            if read_answer(f) != (200, FILES[name]):
                return "a wrong answer"


def http_pipeline(s):
    with s.dial() as c, c.makefile("rb") as f:
        n = random.randint(2, 32)
        c.sendall(get("small") * n)
        for _ in range(n):
            if read_answer(f) != (200, FILES["small"]):
                return "a wrong answer"


def http_range(s):
    a = random.randrange(4096)
    b = random.randrange(a, 4096)
    with s.dial() as c, c.makefile("rb") as f:
        c.sendall(get("small", f"Range: bytes={a}-{b}\r\n"))
        if read_answer(f) != (206, FILES["small"][a:b + 1]):
            return "a wrong range"


def http_garbage(s):
    with s.dial() as c, c.makefile("rb") as f:
        c.sendall(os.urandom(200) + b"\r\n\r\n")
        if read_answer(f)[0] < 400:
            return "garbage was accepted"


def http_huge_head(s):
    with s.dial() as c, c.makefile("rb") as f:
        with contextlib.suppress(ConnectionError, socket.timeout):
            c.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * 10_000_000 + b"\r\n\r\n")
            if read_answer(f)[0] < 400:
                return "a head of 10 MB was accepted"


# ---- bad clients of both ----

def slow(s, text):
    """A byte at a time until the server has enough.  A crowd may keep it waiting before that."""
    with s.dial() as c:
        c.settimeout(0.05)
        for _ in range(1000):
            c.sendall(text)
            with contextlib.suppress(socket.timeout):
                if c.recv(4096) == b"" or stop.is_set():
                    return None
        return "a slow client was served for ever"


def vanish(s, text):
    with s.dial() as c:
        c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        c.sendall(text[:random.randrange(1, len(text))])


def half_open(s, text):
    with s.dial() as c:
        c.sendall(text)
        c.shutdown(socket.SHUT_WR)
        while c.recv(65536):
            continue


def never_reads(s, text):
    with s.dial() as c:
        c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        c.settimeout(0.2)
        with contextlib.suppress(socket.timeout):
            for _ in range(100):
                c.sendall(text * 10)
        time.sleep(0.5)


def silent(s, _text):
    with s.dial() as c:
        c.recv(1)


def crowd(s, _text):
    """More connections than the server has descriptors."""
    with contextlib.ExitStack() as all_of_them:
        with contextlib.suppress(OSError):
            for _ in range(2 * LIMIT):
                all_of_them.enter_context(s.dial(1))
        time.sleep(0.3)


# ---- clients of kvd ----

def command(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


def kv_good(s):
    key, value = b"key%d" % random.getrandbits(40), os.urandom(random.randrange(1, 2000))
    with s.dial() as c, c.makefile("rb") as f:
        c.sendall(command(b"SET", key, value) + command(b"GET", key) + command(b"DEL", key))
        if (line := f.readline()) == b"":
            raise ConnectionError("closed")
        if line != b"+OK\r\n" or f.readline() != b"$%d\r\n" % len(value) \
                or f.read(len(value) + 2) != value + b"\r\n" or f.readline() != b":1\r\n":
            if f.read(1) == b"":
                raise ConnectionError("closed")
            return "a wrong answer"


def kv_counter(s):
    key = b"counter%d" % random.getrandbits(40)
    with s.dial() as c, c.makefile("rb") as f:
        c.sendall(command(b"INCR", key) * 50 + command(b"EXPIRE", key, b"1"))
        lines = [f.readline() for _ in range(51)]
        if lines[-1] == b"":
            raise ConnectionError("closed")
        if lines != [b":%d\r\n" % i for i in range(1, 51)] + [b":1\r\n"]:
            return "a wrong count"


def kv_garbage(s):
    with s.dial() as c, c.makefile("rb") as f:
        c.sendall(b"*1\r\n$999999999999\r\n")
        if not f.readline().startswith(b"-"):
            return "garbage was accepted"


GOOD = {"http": (http_good, http_pipeline, http_range), "kv": (kv_good, kv_counter)}
STRICT = {"http": (http_garbage, http_huge_head), "kv": (kv_garbage,)}
BAD = (slow, vanish, half_open, never_reads, silent, crowd)
TEXT = {"http": get("large"), "kv": command(b"SET", b"bad", b"x" * 1000)}
TRICKLE = {"http": b"G", "kv": b"*"}


def run_one(server, kind):
    """A good client that is refused tries again, unless the server is away or there is a crowd."""
    text = TRICKLE[server.name] if kind is slow else TEXT[server.name]
    name = kind.__name__ if kind not in BAD else f"{server.name}_{kind.__name__}"
    error = None
    try:
        error = kind(server, text) if kind in BAD else kind(server)
    except (OSError, ValueError, IndexError) as e:
        if kind in GOOD[server.name]:
            # Refused or cut off: by a restart, or with all descriptors in use.
            with lock:
                counts["refused"] += 1
            return
        if isinstance(e, socket.timeout) and kind in STRICT[server.name]:
            error = "no answer"
    count(name, error)


def run_clients(server, kinds):
    while not stop.is_set():
        run_one(server, random.choice(kinds))


def disturb(servers):
    while not stop.wait(random.uniform(0.5, 2)):
        server = random.choice(servers)
        if random.random() < 0.5:
            server.process.send_signal(signal.SIGSTOP)
            time.sleep(random.uniform(0.01, 0.3))
            server.process.send_signal(signal.SIGCONT)
            count("stopped")
        else:
            server.restart()
            count("restarted")


def settle(server):
    """What is held once all clients are gone, in the end."""
    end = time.monotonic() + 15
    while server.held()[0] > 20 and time.monotonic() < end:
        time.sleep(0.1)
    return server.held()


def main():
    httpd, kvd, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    with tempfile.TemporaryDirectory() as root:
        for name, data in FILES.items():
            with open(os.path.join(root, name), "wb") as f:
                f.write(data)
        servers = [Server("http", httpd, "-c", "1000", "-r", "1", "-i", "1", "-g", "1", root),
                   Server("kv", kvd, "-c", "1000", "-i", "1", "-g", "1")]
        threads = [threading.Thread(target=disturb, args=(servers,))]
        for s in servers:
            for kinds in [GOOD[s.name]] * 3 + [STRICT[s.name]] + [(b,) for b in BAD]:
                threads.append(threading.Thread(target=run_clients, args=(s, kinds)))
        for t in threads:
            t.start()
        time.sleep(seconds)
        stop.set()
        for t in threads:
            t.join()
        # A restarted server holds little; what all of these clients leave behind is to be seen.
        held = {}
        for s in servers:
            before = settle(s)
            for _ in range(200):
                run_one(s, random.choice(GOOD[s.name] + (vanish, half_open)))
            held[s.name] = {"before": before, "after": settle(s)}
            s.end()
    kinds = [f"{s}_{b.__name__}" for s in ("http", "kv") for b in BAD]
    kinds += [k.__name__ for s in ("http", "kv") for k in GOOD[s] + STRICT[s]]
    print(json.dumps({
        "counts": dict(counts), "errors": dict(errors), "held": held,
        "kinds": len(kinds), "missing": [k for k in kinds if counts[k] == 0],
        "wrong": sum(errors.values()),
        "bad_exits": [x for s in servers for x in s.statuses if x != 0],
        "grown_descriptors": sum(h["after"][0] - h["before"][0] for h in held.values()),
        "grown_kb": sum(h["after"][1] - h["before"][1] for h in held.values())}))


main()
