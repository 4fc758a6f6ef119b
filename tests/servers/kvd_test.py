#!/usr/bin/env python3
"""kvd_test.py PROGRAM: good and bad clients of examples/servers/kvd."""
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from server import PATIENCE, Server, read_all, read_exactly


def command(*words):
    words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


def line(s):
    data = b""
    while not data.endswith(b"\r\n"):
        data += read_exactly(s, 1)
    return data[:-2]


def reply(s):
    first = line(s)
    if first[:1] == b":":
        return int(first[1:])
    if first[:1] == b"$":
        size = int(first[1:])
        return None if size < 0 else read_exactly(s, size + 2)[:-2]
    if first[:1] == b"*":
        return [reply(s) for _ in range(int(first[1:]))]
    return first


def call(s, *words):
    s.sendall(command(*words))
    return reply(s)


class Kvd(unittest.TestCase):
    def test_commands(self):
        with Server() as server, server.dial() as s:
            self.assertEqual(call(s, "PING"), b"+PONG")
            self.assertEqual(call(s, "ping", "you"), b"you")
            self.assertIsNone(call(s, "GET", "a"))
            self.assertEqual(call(s, "SET", "a", "one"), b"+OK")
            self.assertEqual(call(s, "GET", "a"), b"one")
            self.assertEqual(call(s, "SET", "a", b"\0\r\n" * 500000)[:4], b"-ERR")

    def test_values(self):
        with Server() as server, server.dial() as s:
            for value in (b"", b"\0\r\n", b"x" * 1024, b"y" * 1025, os.urandom(1000000)):
                self.assertEqual(call(s, "SET", "a", value), b"+OK")
                self.assertEqual(call(s, "GET", "a"), value)
            self.assertEqual(call(s, "INCR", "n"), 1)
            self.assertEqual(call(s, "INCR", "n"), 2)
            self.assertEqual(call(s, "SET", "n", "-5"), b"+OK")
            self.assertEqual(call(s, "INCR", "n"), -4)
            self.assertEqual(call(s, "SET", "t", "5 "), b"+OK")
            self.assertEqual(call(s, "INCR", "t")[:4], b"-ERR")
            self.assertEqual(call(s, "MGET", "n", "none", "t"), [b"-4", None, b"5 "])
            self.assertEqual(call(s, "DEL", "n", "none", "t"), 2)
            self.assertIsNone(call(s, "GET", "n"))
            self.assertEqual(call(s, "GET")[:4], b"-ERR")
            self.assertEqual(call(s, "FLY", "a")[:4], b"-ERR")
            self.assertIn(b"keys:1\r\n", call(s, "INFO"))
            s.sendall(b"SET  w  words\r\n\r\nGET w\n")
            self.assertEqual((reply(s), reply(s)), (b"+OK", b"words"))

    def test_expire(self):
        with Server() as server, server.dial() as s:
            self.assertEqual(call(s, "EXPIRE", "a", 1), 0)
            call(s, "SET", "a", "x")
            call(s, "SET", "b", "x")
            self.assertEqual(call(s, "EXPIRE", "a", 1), 1)
            self.assertEqual(call(s, "EXPIRE", "b", 0), 1)
            self.assertEqual(call(s, "EXPIRE", "a", "soon")[:4], b"-ERR")
            self.assertIsNone(call(s, "GET", "b"))
            self.assertEqual(call(s, "GET", "a"), b"x")
            until = time.monotonic() + PATIENCE
            while call(s, "GET", "a") is not None and time.monotonic() < until:
                time.sleep(0.05)
            self.assertIsNone(call(s, "GET", "a"))

    def test_pipelining(self):
        """Many commands in one piece, and one command in many pieces."""
        with Server() as server, server.dial() as s:
            many = b"".join(command("SET", f"k{i}", i) + command("GET", f"k{i}")
                            for i in range(3000))
            sender = threading.Thread(target=s.sendall, args=(many,))
            sender.start()
            for i in range(3000):
                self.assertEqual((reply(s), reply(s)), (b"+OK", str(i).encode()))
            sender.join()
            for byte in command("PING") + command("GET", "k17"):
                s.sendall(bytes([byte]))
            self.assertEqual((reply(s), reply(s)), (b"+PONG", b"17"))
            s.sendall(command("PING") + b"*2\r\n$3\r\nGET")
            self.assertEqual(reply(s), b"+PONG")	# not held back by the rest
            s.sendall(b"\r\n$3\r\nk18\r\n")
            self.assertEqual(reply(s), b"18")

    def test_counting_together(self):
        """INCR of many clients loses none."""
        with Server() as server:
            def count():
                with server.dial() as s:
                    s.sendall(command("INCR", "n") * 500)
                    for _ in range(500):
                        self.assertGreater(reply(s), 0)
            clients = [threading.Thread(target=count) for _ in range(8)]
            for c in clients:
                c.start()
            for c in clients:
                c.join()
            with server.dial() as s:
                self.assertEqual(call(s, "GET", "n"), b"4000")

    def test_bad_clients(self):
        with Server() as server:
            for data in (b"*x\r\n", b"*2000\r\n", b"*1\r\n$99999999\r\n", b"*1\r\n+x\r\n",
                         b"*1\r\n$1\r\nabc", b"x" * 10000):
                try:
                    self.assertEqual(server.ask(data)[:4], b"-ERR")
                except ConnectionResetError:
                    pass	# it had not read all
            for data in (b"", b"*2\r\n$3\r\nGE", command("GET", "a") * 100):
                for _ in range(20):
                    with server.dial() as s:
                        s.sendall(data)
            with server.dial() as s:
                self.assertEqual(call(s, "PING"), b"+PONG")

    def test_limits(self):
        with Server("-m", "1") as server, server.dial() as s:
            replies = [call(s, "SET", f"k{i}", b"v" * 1000) for i in range(2000)]
            self.assertIn(b"+OK", replies)
            self.assertIn(b"-OOM the store is full", replies)
            self.assertEqual(call(s, "GET", "k0"), b"v" * 1000)
        with Server("-i", "0.1") as server:
            self.assertEqual(server.ask(b""), b"")

    def test_drain(self):
        with Server("-g", str(PATIENCE)) as server, server.dial() as idle, server.dial() as busy:
            call(idle, "PING")
            call(busy, "PING")
            busy.sendall(b"*2\r\n$4\r\nPING\r\n")
            time.sleep(0.1)
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(read_all(idle), b"")
            busy.sendall(b"$3\r\nyes\r\n")
            self.assertEqual(reply(busy), b"yes")
            self.assertEqual(server.process.wait(PATIENCE), 0)

    @unittest.skipUnless(shutil.which("redis-benchmark"), "no redis-benchmark")
    def test_redis_benchmark(self):
        with Server() as server:
            out = subprocess.run(["redis-benchmark", "-p", str(server.address[1]), "-q", "-n",
                                  "2000", "-P", "16", "-t", "ping,set,get,incr"],
                                 capture_output=True, text=True, timeout=PATIENCE * 3, check=True)
            self.assertIn("GET:", out.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
