#!/usr/bin/env python3
"""httpd_test.py PROGRAM: good and bad clients of examples/servers/httpd."""
import os
import signal
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from server import PATIENCE, Server, read_all, read_exactly

BIG = bytes(i * 7 % 251 for i in range(300000))
GET = "GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n"


def get(path, *fields):
    return (GET % (path, "".join(f + "\r\n" for f in fields))).encode()


def answer(s):
    """(status, fields, body) of one answer."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += read_exactly(s, 1)
    lines = head.decode().split("\r\n")[:-2]
    fields = dict(line.lower().split(": ", 1) for line in lines[1:])
    return int(lines[0].split()[1]), fields, read_exactly(s, int(fields["content-length"]))


def status(data):
    return int(data.split(b" ", 2)[1]) if data else None


class Httpd(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory()
        root = cls.root = os.path.join(cls.dir.name, "root")
        os.makedirs(os.path.join(root, "sub"))
        for name, data in (("small.txt", b"hello, world\n"), ("big.bin", BIG), ("empty", b""),
                           ("sub/index.html", b"<p>index</p>"), ("a b.txt", b"blank")):
            with open(os.path.join(root, name), "wb") as f:
                f.write(data)
        with open(os.path.join(cls.dir.name, "secret"), "wb") as f:
            f.write(b"secret")

    @classmethod
    def tearDownClass(cls):
        cls.dir.cleanup()

    def test_files(self):
        with Server(self.root) as server, server.dial() as s:
            for path, body in (("/small.txt", b"hello, world\n"), ("/big.bin", BIG),
                               ("/empty", b""), ("/sub", b"<p>index</p>"),
                               ("/sub/", b"<p>index</p>"), ("/a%20b.txt?x=/../y", b"blank")):
                s.sendall(get(path))
                code, _, got = answer(s)
                self.assertEqual((path, code, got == body), (path, 200, True))
            s.sendall(get("/none"))
            self.assertEqual(answer(s)[0], 404)
            s.sendall(get("/small.txt").replace(b"GET", b"HEAD") + get("/small.txt"))
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += read_exactly(s, 1)
            self.assertIn(b"Content-Length: 13\r\n", head)
            self.assertEqual(answer(s)[2], b"hello, world\n")
            s.sendall(b"DELETE /small.txt HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertEqual(answer(s)[0], 405)

    def test_changed_file(self):
        path = os.path.join(self.root, "changing")
        with Server(self.root) as server, server.dial() as s:
            for text in (b"first", b"second one"):
                with open(path, "wb") as f:
                    f.write(text)
                end = time.monotonic() + PATIENCE
                got = None
                while got != text and time.monotonic() < end:  # it may be kept for a moment
                    s.sendall(get("/changing"))
                    got = answer(s)[2]
                self.assertEqual(got, text)

    def test_ranges(self):
        with Server(self.root) as server, server.dial() as s:
            for text, want in (("0-9", BIG[:10]), ("100-", BIG[100:]), ("-5", BIG[-5:]),
                               ("299999-400000", BIG[-1:]), ("1000-200000", BIG[1000:200001]),
                               ("-400000", BIG)):
                s.sendall(get("/big.bin", f"Range: bytes={text}"))
                code, fields, body = answer(s)
                self.assertEqual((text, code, body == want), (text, 206, True))
                self.assertTrue(fields["content-range"].endswith("/300000"))
            for text in ("300000-", "-0"):
                s.sendall(get("/big.bin", f"Range: bytes={text}"))
                code, fields, _ = answer(s)
                self.assertEqual((code, fields["content-range"]), (416, "bytes */300000"))
            s.sendall(get("/big.bin", "Range: bytes=9-1") + get("/big.bin", "Range: lines=1-2"))
            self.assertEqual(answer(s)[0], 200)
            self.assertEqual(answer(s)[0], 200)

    def test_pipelining(self):
        paths = ["/small.txt", "/none", "/big.bin", "/sub"] * 20
        with Server(self.root) as server, server.dial() as s:
            sender = threading.Thread(target=s.sendall, args=(b"".join(map(get, paths)),))
            sender.start()
            for path in paths:
                code, _, body = answer(s)
                self.assertEqual(code, 404 if path == "/none" else 200)
                if path == "/big.bin":
                    self.assertTrue(body == BIG)
            sender.join()

    def test_close(self):
        with Server(self.root) as server:
            self.assertEqual(status(server.ask(get("/empty", "Connection: close"))), 200)
            self.assertEqual(status(server.ask(b"GET /empty HTTP/1.0\r\n\r\n")), 200)

    def test_refused(self):
        secret = b"GET /..%2fsecret HTTP/1.1\r\nHost: x\r\n\r\n"
        cases = ((b"GET / HTTP/1.1\r\n\r\n", 400), (b"GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
                 (b"GET / HTTP/1.1\nHost: x\n\n", 400), (b"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505),
                 (b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400),
                 (b"GET / HTTP/1.1\r\nHost: x\r\n Folded: y\r\n\r\n", 400),
                 (b"GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400), (b"\x16\x03\x01\r\n\r\n", 400),
                 (b"GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n", 400), (secret, 400),
                 (b"GET /../secret HTTP/1.1\r\nHost: x\r\n\r\n", 400),
                 (b"GET /" + b"a" * 2000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414),
                 (get("/", "Content-Length: 5", "Content-Length: 5"), 400),
                 (get("/", "Content-Length: +5"), 400), (get("/", "Transfer-Encoding: chunked"), 501),
                 (get("/", "Transfer-Encoding: chunked", "Content-Length: 3"), 400),
                 (get("/", "Content-Length: 5") + b"abcde", 413))
        with Server(self.root) as server:
            for data, expected in cases:
                self.assertEqual((data[:60], status(server.ask(data))), (data[:60], expected))
            outside = f"/{os.path.join(self.dir.name, 'secret')}"
            self.assertEqual(status(server.ask(get(outside, "Connection: close"))), 404)

    def test_oversize_head(self):
        with Server(self.root) as server, server.dial() as s:
            def flood():
                try:
                    s.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 10_000_000)
                except OSError:
                    pass
            sender = threading.Thread(target=flood)
            sender.start()
            self.assertEqual(status(s.recv(4096)), 431)
            s.close()
            sender.join()

    def test_slow_client(self):
        """A byte now and then does not extend the time of the request."""
        with Server("-r", "0.5", self.root) as server, server.dial() as s:
            began = time.monotonic()
            try:
                for byte in get("/small.txt", "X: " + "y" * 200):
                    s.sendall(bytes([byte]))
                    time.sleep(0.02)
            except OSError:
                pass
            self.assertEqual(status(s.recv(4096)), 408)
            self.assertLess(time.monotonic() - began, PATIENCE)

    def test_silent_client(self):
        with Server("-i", "0.1", self.root) as server:
            self.assertEqual(server.ask(b""), b"")

    def test_client_that_never_reads(self):
        with Server("-r", "0.3", "-c", "1", self.root) as server, server.dial() as s:
            s.sendall(get("/big.bin") * 100)
            with server.dial() as other:	# has its turn when the first has been ended
                other.sendall(get("/small.txt"))
                self.assertEqual(answer(other)[0], 200)

    def test_vanishing_clients(self):
        with Server(self.root) as server:
            for data in (b"", b"GET", get("/big.bin") * 3, get("/small.txt")):
                for _ in range(20):
                    with server.dial() as s:
                        s.sendall(data)
            with server.dial() as s:
                s.sendall(get("/small.txt"))
                self.assertEqual(answer(s)[0], 200)

    def test_no_descriptors_left(self):
        """Connections wait, the server does not spin, and goes on."""
        with Server(self.root, limit=24) as server:
            with server.dial() as first:
                first.sendall(get("/small.txt"))
                self.assertEqual(answer(first)[0], 200)
                waiting = [server.dial() for _ in range(40)]
                time.sleep(0.2)
                before = server.cpu()
                time.sleep(0.5)
                self.assertLess(server.cpu() - before, 0.25)
                first.sendall(get("/small.txt"))
                self.assertIn(answer(first)[0], (200, 503))
            for s in waiting:
                s.thing.close()
            with server.dial() as s:
                s.sendall(get("/small.txt"))
                self.assertEqual(answer(s)[0], 200)

    def test_drain(self):
        """SIGTERM: an idle connection ends at once, a request that has begun is answered."""
        with Server("-g", str(PATIENCE), self.root) as server:
            with server.dial() as idle, server.dial() as busy:
                idle.sendall(get("/small.txt"))
                answer(idle)
                busy.sendall(get("/small.txt"))
                answer(busy)
                busy.sendall(b"GET /small.txt HTTP/1.1\r\n")
                time.sleep(0.1)
                server.process.send_signal(signal.SIGTERM)
                self.assertEqual(read_all(idle), b"")
                busy.sendall(b"Host: x\r\n\r\n")
                self.assertEqual(answer(busy)[2], b"hello, world\n")
                self.assertEqual(read_all(busy), b"")
            self.assertEqual(server.process.wait(PATIENCE), 0)

    def test_grace(self):
        with Server("-g", "0.1", self.root) as server, server.dial() as s:
            s.sendall(get("/small.txt") + b"GET /small")
            answer(s)
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(PATIENCE), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
