"""ccsum_test PROGRAM: ccsum prints what sha256sum prints, and accepts and rejects what it does."""
import hashlib
import os
import re

from run import AppTest, main, mixed, need


class Sums(AppTest):
    def test_sums_come_in_the_order_of_the_names(self):
        names = [f"f{i}" for i in range(300)]
        for i, name in enumerate(names):
            self.put(name, mixed(1 if i % 7 else 300000, i))
        expected = "".join(f"{hashlib.sha256(self.get(n)).hexdigest()}  {n}\n" for n in names)
        for processes in ("-p1", "-p3"):
            self.assertEqual(self.check(processes, *names).decode(), expected)

    def test_recursion_finds_every_file_once(self):
        os.makedirs(self.path("t/u/v"))
        for name in ("t/a", "t/u/b", "t/u/v/c"):
            self.put(name, name.encode())
        os.symlink("a", self.path("t/link"))
        lines = self.check("-r", "t").decode().splitlines()
        self.assertEqual([line[66:] for line in lines], ["t/a", "t/u/b", "t/u/v/c"])

    def test_standard_input_is_a_dash(self):
        line = f"{hashlib.sha256(b'data').hexdigest()}  -\n".encode()
        self.assertEqual(self.check(stdin=b"data"), line)
        self.assertEqual(self.check("-", stdin=b"data"), line)

    def test_what_cannot_be_read_is_named_and_the_rest_done(self):
        self.put("a", b"x")
        os.mkdir(self.path("d"))
        for recursion in ((), ("-r",)):
            out = self.check(*recursion, "missing", "", *(() if recursion else ("d",)), "a",
                             status=1, error="^ccsum: missing: No such file or directory\n"
                             "ccsum: : No such file or directory\n"
                             + ("" if recursion else "ccsum: d: Is a directory\n") + "$")
            self.assertEqual(out.decode()[66:], "a\n")

    def test_help_and_wrong_options(self):
        self.assertIn("--recursive", self.check("--help").decode())
        for args in (("-p0",), ("-p", "x"), ("-p257",), ("--bogus",)):
            self.check(*args, status=1, error="Usage: ccsum")


@need("sha256sum")
class AsSha256sum(AppTest):
    def same(self, *args, stdin=b""):
        """Both print the same, but for their own names, with the same status."""
        theirs = self.run_program(*args, stdin=stdin, program="sha256sum")
        ours = self.run_program(*args, stdin=stdin)
        self.assertEqual(ours.stdout, theirs.stdout, args)
        self.assertEqual(ours.stderr.replace(b"ccsum", b"sha256sum"), theirs.stderr, args)
        self.assertEqual(ours.returncode, theirs.returncode, args)
        return theirs.returncode

    def setUp(self):
        super().setUp()
        for name in ("a", "b", "back\\slash", "line\nbreak", " blank", "c"):
            self.put(name, mixed(50000, len(name)))
        self.good = self.check(*sorted(self.names()))
        self.put("good", self.good)

    def test_names_are_escaped(self):
        self.same("back\\slash", "line\nbreak", " blank", "./a")

    def test_good_sums_are_accepted(self):
        for args in (("-c",), ("-c", "--quiet"), ("-c", "--status")):
            self.assertEqual(self.same(*args, "good"), 0)
        self.put("star", re.sub(rb"([0-9a-f]{64})  ", lambda m: m[1].upper() + b" *", self.good))
        self.same("-c", "star")
        self.same("-c", stdin=self.good)
        self.put("crlf", self.good.replace(b"\n", b"\r\n"))
        self.same("-c", "crlf")
        self.put("blanks", b"".join(b" \t" + s for s in self.good.splitlines(True)))
        self.same("-c", "blanks", "good")

    def test_wrong_sums_are_rejected(self):
        self.put("a", b"changed")
        os.remove(self.path("b"))
        for args in ((), ("--quiet",), ("--status",)):
            self.assertEqual(self.same("-c", *args, "good"), 1)
        self.put("rest", b"".join(s for s in self.good.splitlines(True) if s[66:67] not in b"ab"))
        self.assertEqual(self.same("-c", "good", "rest"), 1)

    def test_lines_that_are_no_sums(self):
        for bad in (b"rubbish\n", self.good[1:66] + b"\n", b"x" + self.good, b"\n", b"", b"# x\n"):
            self.put("bad", bad)
            self.put("part", self.good + bad)
            for args in ((), ("--status",)):
                self.same("-c", *args, "part")
                self.same("-c", *args, "bad")
        self.same("-c", "missing", "good")

    def test_nothing_left_to_verify(self):
        self.put("list", b"0" * 64 + b"  nowhere\n")
        self.assertEqual(self.same("-c", "list"), 1)


if __name__ == "__main__":
    main()
