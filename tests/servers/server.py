"""A server program under test, and clients for it."""
import contextlib
import os
import signal
import socket
import subprocess
import sys

PATIENCE = 20 * int(os.environ.get("TEST_TIMEOUT", "1"))


class Server:
    """PROGRAM with the arguments and an address of its own, until the end of the with block."""

    def __init__(self, *arguments, limit=None):
        command = [sys.argv[1], "-a", "127.0.0.1:0", *arguments]
        if limit is not None:
            command = ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", *command]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line.startswith("listening at "), line
        host, port = line.split()[-1].rsplit(":", 1)
        self.address = (host, int(port))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(PATIENCE)
        self.process.stdout.close()
        if exception[0] is None:
            assert status == 0, f"the server ended with {status}"

    def dial(self):
        s = socket.create_connection(self.address, PATIENCE)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return contextlib.closing(s)

    def ask(self, data, shut=False):
        """Sends the bytes and returns all that comes until the server closes."""
        with self.dial() as s:
            s.sendall(data)
            if shut:
                s.shutdown(socket.SHUT_WR)
            return read_all(s)

    def cpu(self):
        """Seconds of CPU time so far."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def read_all(s):
    data = b""
    while piece := s.recv(65536):
        data += piece
    return data


def read_exactly(s, size):
    data = b""
    while len(data) < size:
        piece = s.recv(size - len(data))
        assert piece, f"the end after {data[-100:]!r}"
        data += piece
    return data
