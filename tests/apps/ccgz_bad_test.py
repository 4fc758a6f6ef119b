"""ccgz_bad_test PROGRAM: what ccgz does when something is wrong: the exit status is gzip's, the
message names the file and the reason, and no half file is left."""
import gzip
import os
import pty
import random
import signal
import subprocess
import time

from run import PROGRAM, TIMEOUT, AppTest, main, mixed

ENGINES = ("fiber", "thread", "direct")
with open(PROGRAM, "rb") as program:
    SANITIZED = b"san_init" in program.read()


def members(data, size=40000):
    """Members that tell their size, as ccgz --fast-codec writes them."""
    out = b""
    for at in range(0, len(data), size):
        plain = gzip.compress(data[at:at + size])
        length = len(plain) + 10
        out += (plain[:3] + b"\4" + plain[4:10] + b"\x08\0CC\4\0" +
                length.to_bytes(4, "little") + plain[10:])
    return out


class Damage(AppTest):
    def test_truncated_input_is_refused_at_every_place(self):
        data = mixed(300000)
        for packed in (gzip.compress(data), members(data)):
            for length in (1, 2, 9, 10, 25, len(packed) // 2, len(packed) - 8, len(packed) - 1):
                self.put("a.gz", packed[:length])
                with self.subTest(length=length):
                    self.check("-d", "a.gz", status=1, error="^ccgz: a.gz: (unexpected end of "
                               "file|not in gzip format|invalid compressed data--.*)\n$")
                    self.assertEqual(self.names(), ["a.gz"])

    def test_flipped_bits_are_found(self):
        data = mixed(200000)
        rng = random.Random(7)
        for packed in (gzip.compress(data), members(data)):
            for at in [len(packed) - 2, len(packed) - 6] + [rng.randrange(40, len(packed) - 8)
                                                           for _ in range(15)]:
                bad = bytearray(packed)
                bad[at] ^= 1 << rng.randrange(8)
                done = self.run_program("-t", stdin=bytes(bad))
                self.assertEqual(done.returncode, 1, f"byte {at}: {done.stderr}")
                self.assertRegex(done.stderr, b"^ccgz: stdin: ")

    def test_data_before_the_damage_is_written(self):
        data = mixed(500000)
        packed = gzip.compress(data)
        done = self.run_program("-dc", stdin=packed[:len(packed) // 2])
        self.assertEqual(done.returncode, 1)
        self.assertGreater(len(done.stdout), 100000)
        self.assertTrue(data.startswith(done.stdout))
        packed = members(data)
        done = self.run_program("-dc", stdin=packed[:-20] + bytes(20))
        self.assertEqual(done.stdout, data[:480000])

    def test_wrong_sizes_of_members_are_found(self):
        packed = members(mixed(100000))
        for size in (0, 27, 28, 1000, 0x7fffffff, 0xffffffff):
            bad = packed[:16] + size.to_bytes(4, "little") + packed[20:]
            done = self.run_program("-t", stdin=bad)
            # A size that cannot be is not believed: the member is read as any other.
            self.assertIn(done.returncode, (0, 1))
            if done.returncode == 0:
                self.assertEqual(self.run_program("-dc", stdin=bad).stdout, mixed(100000))

    def test_what_is_no_gzip_is_named(self):
        for data, error in ((b"", "unexpected end of file"), (b"plain text", "not in gzip format"),
                            (b"\x1f\x9d\x90abc", "not in gzip format"),     # helin-segv: compress
                            (b"\x1f\x8b\x07" + bytes(20), "unknown method"),
                            (b"\x1f\x8b\x08\xe0" + bytes(20), "unknown flags")):
            self.put("a.gz", data)
            self.check("-d", "a.gz", status=1, error=f"^ccgz: a.gz: .*{error}")
            self.assertEqual(self.names(), ["a.gz"])

    def test_broken_huffman_tables_are_refused(self):    # hufts
        for body in (b"\x07", b"\x05\xe0\x81\x08", b"\xed\xfd\xff\xff\xff" * 20, b"\x06" * 30):
            self.check("-t", stdin=gzip.compress(b"")[:10] + body + bytes(40), status=1,
                       error="^ccgz: stdin: (invalid compressed data|unexpected end of file)")

    def test_overlapping_copies_come_out_right(self):    # memcpy-abuse
        for period in (1, 2, 3, 5, 31, 257, 32767, 32768):
            data = (mixed(period) * (200000 // period + 1))[:200000]
            self.assertEqual(self.check("-dc", stdin=self.check(stdin=data)), data)

    def test_zeros_after_the_data_are_padding_and_the_rest_is_garbage(self):   # trailing-nul
        packed = gzip.compress(b"data")
        for padding in (1, 512, 200000):
            self.assertEqual(self.check("-dc", stdin=packed + bytes(padding)), b"data")
        for garbage in (b"x", b"\0x", b"garbage" * 100000):
            self.assertEqual(self.check("-dc", stdin=packed + garbage, status=2,
                                        error="stdin: decompression OK, trailing garbage ignored"),
                             b"data")
        self.assertEqual(self.check("-dqc", stdin=members(b"data") + b"x", status=2), b"data")

    def test_force_copies_what_is_not_compressed(self):  # mixed
        plain = mixed(300000)
        self.assertEqual(self.check("-dcf", stdin=plain), plain)
        self.assertEqual(self.check("-dcf", stdin=gzip.compress(b"x") + plain), b"x" + plain)
        self.check("-dc", stdin=plain, status=1, error="stdin: not in gzip format")


class Trouble(AppTest):
    def test_unreadable_file_is_named(self):
        self.put("a", b"x")
        self.put("b", b"x")
        os.chmod(self.path("a"), 0)
        if os.access(self.path("a"), os.R_OK):      # root reads everything
            os.remove(self.path("a"))
            os.symlink("/proc/self/mem", self.path("a"))
            self.check("-c", "a", status=1, error="^ccgz: a: Input/output error\n$")
        else:
            self.check("a", "b", status=1, error="^ccgz: a: Permission denied\n$")
            self.assertEqual(self.names(), ["a", "b.gz"])

    def test_output_that_cannot_have_its_name_is_removed(self):
        name = "n" * 254
        self.put(name, b"x")
        self.check(name, status=1, error="File name too long")
        self.assertEqual(self.names(), [name])

    def test_full_device_is_reported_by_every_engine(self):     # write-error
        data = mixed(2000000)
        self.put("a.gz", gzip.compress(data))
        self.put("m.gz", members(data))
        for engine in ENGINES:
            for args in (("-c",), ("-dc", "a.gz"), ("-dc", "m.gz")):
                with open("/dev/full", "wb") as full:
                    done = subprocess.run([PROGRAM, "-p2", f"--engine={engine}", *args],
                                          input=data, stdout=full, stderr=subprocess.PIPE,
                                          cwd=self.dir, timeout=TIMEOUT, check=False)
                self.assertEqual((done.returncode, done.stderr),
                                 (1, b"ccgz: stdout: No space left on device\n"))
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROGRAM, "--help"], stdout=full, check=False)
        self.assertEqual(done.returncode, 1)

    def test_file_that_would_be_too_large_is_removed(self):
        self.put("a", random.Random(1).randbytes(1 << 20))
        for engine in ENGINES:
            done = subprocess.run(["sh", "-c", 'trap "" XFSZ; ulimit -f 200; exec "$@"', "sh",
                                   PROGRAM, "-p2", f"--engine={engine}", "a"], cwd=self.dir,
                                  capture_output=True, timeout=TIMEOUT, check=False)
            self.assertEqual((done.returncode, done.stderr), (1, b"ccgz: a.gz: File too large\n"))
            self.assertEqual(self.names(), ["a"])

    def test_closed_pipe_ends_it(self):
        for engine in ENGINES:
            with subprocess.Popen([PROGRAM, "-0", f"--engine={engine}", "-p2"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as p:
                p.stdout.close()
                try:
                    p.stdin.write(bytes(8 << 20))
                    p.stdin.close()
                except BrokenPipeError:
                    pass
                self.assertEqual(p.wait(TIMEOUT), -signal.SIGPIPE)
                self.assertEqual(p.stderr.read(), b"")

    def ended_by(self, number, *args):
        """Sends a signal once the output has been begun.  Returns the status."""
        with subprocess.Popen([PROGRAM, "-9", "-p2", *args, "a"], cwd=self.dir) as p:
            end = time.monotonic() + TIMEOUT
            while len(self.names()) < 2 and time.monotonic() < end and p.poll() is None:
                time.sleep(0.001)
            p.send_signal(number)
            return p.wait(TIMEOUT)

    def test_signal_removes_the_file(self):
        data = random.Random(2).randbytes(1 << 20) * 32
        for engine in ENGINES:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                status = 0
                for _ in range(20):     # a busy machine may send it after the end
                    if status == 0:
                        self.put("a", data)
                        status = self.ended_by(number, "-f", f"--engine={engine}")
                        if status == 0:
                            os.remove(self.path("a.gz"))
                self.assertEqual(status, -number)
                self.assertEqual(self.names(), ["a"])

    def test_terminal_is_not_written_to_without_force(self):
        ours, theirs = pty.openpty()
        done = subprocess.run([PROGRAM], stdin=subprocess.DEVNULL, stdout=theirs,
                              stderr=subprocess.PIPE, timeout=TIMEOUT, check=False)
        self.assertEqual((done.returncode, done.stderr),
                         (1, b"ccgz: stdout: is a terminal; -f writes compressed data to it\n"))
        done = subprocess.run([PROGRAM, "-d"], stdin=theirs, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, timeout=TIMEOUT, check=False)
        self.assertEqual((done.returncode, done.stderr),
                         (1, b"ccgz: stdin: is a terminal; -f reads compressed data from it\n"))
        os.close(ours)
        os.close(theirs)

    def test_overwriting_is_asked_for_on_a_terminal(self):
        for answer, status, expected in ((b"n\n", 2, b"old"), (b"y\n", 0, None)):
            self.put("a", b"new")
            self.put("a.gz", b"old")
            ours, theirs = pty.openpty()
            os.write(ours, answer)
            done = subprocess.run([PROGRAM, "a"], cwd=self.dir, stdin=theirs,
                                  stderr=subprocess.PIPE, timeout=TIMEOUT, check=False)
            self.assertIn(b"a.gz already exists; do you wish to overwrite", done.stderr)
            self.assertEqual(done.returncode, status)
            packed = self.get("a.gz")
            self.assertEqual(packed if expected else gzip.decompress(packed), expected or b"new")
            os.close(ours)
            os.close(theirs)

    def test_progress_is_shown_on_a_terminal_and_erased(self):
        ours, theirs = pty.openpty()
        with subprocess.Popen([PROGRAM, "-c"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              stderr=theirs) as p:
            os.close(theirs)
            shown = b""
            end = time.monotonic() + TIMEOUT
            while b"MB/s" not in shown and time.monotonic() < end:
                p.stdin.write(bytes(1 << 20))
                os.set_blocking(ours, False)
                try:
                    shown += os.read(ours, 4096)
                except BlockingIOError:
                    pass
            p.stdin.close()
            self.assertEqual(p.wait(TIMEOUT), 0)
            os.set_blocking(ours, True)
            try:
                while part := os.read(ours, 4096):
                    shown += part
            except OSError:
                pass                    # the terminal is closed
        self.assertRegex(shown, rb"^\rstdin: [\d.]+ MB, [\d.]+ MB/s")
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown[-40:])
        os.close(ours)

    def test_memory_stays_small_however_long_the_input(self):
        if SANITIZED:
            self.skipTest("sanitizers use memory of their own")
        data = bytes(1 << 20)
        for args in (("-1",), ("-1", "--engine=thread"), ("-1", "--engine=direct")):
            with subprocess.Popen([PROGRAM, "-p2", *args], stdin=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL) as p:
                for _ in range(100):
                    p.stdin.write(data)
                with open(f"/proc/{p.pid}/status", encoding="ascii") as f:
                    most = next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))
                p.stdin.close()
                self.assertEqual(p.wait(TIMEOUT), 0)
            self.assertLess(most, 16 << 10)


if __name__ == "__main__":
    main()
