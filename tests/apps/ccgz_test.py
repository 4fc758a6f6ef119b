"""ccgz_test PROGRAM: what ccgz does with good files: others read its output, it reads that of
others, options do what the help says, names, times and modes are kept."""
import gzip
import os
import stat
import subprocess
import zlib

from run import PROGRAM, AppTest, main, mixed, need

BLOCK = 128 << 10
# Around the size of a block, where the end of the file is met in different ways.
SIZES = (0, 1, 100, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 5 * BLOCK + 77)
ENGINES = ("fiber", "thread", "direct")
CODECS = [c.strip() for c in subprocess.run(
    [PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
          .split("codecs:")[1].strip(" )\n").split(",")]


class Compression(AppTest):
    def test_every_size_engine_and_codec_is_read_by_others(self):
        data = mixed(max(SIZES))
        for size in SIZES:
            for engine in ENGINES:
                for codec in CODECS:
                    with self.subTest(size=size, engine=engine, codec=codec):
                        packed = self.check("-c", "-p3", f"--engine={engine}",
                                            f"--codec={codec}", "-b128", stdin=data[:size])
                        self.assertEqual(gzip.decompress(packed), data[:size])
                        self.assertEqual(self.check("-dc", f"--engine={engine}", stdin=packed),
                                         data[:size])

    @need("gzip", "pigz")
    def test_gzip_and_pigz_accept_the_output(self):
        data = mixed(700000)
        for codec in CODECS:
            packed = self.check(f"--codec={codec}", stdin=data)
            for reader in ("gzip", "pigz"):
                self.assertEqual(self.check("-t", stdin=packed, program=reader), b"")
                self.assertEqual(self.check("-dc", stdin=packed, program=reader), data)

    def test_higher_levels_are_smaller(self):
        data = mixed(600000)
        sizes = [len(self.check(f"-{level}", stdin=data)) for level in (0, 1, 6, 9)]
        self.assertGreater(sizes[0], len(data))
        self.assertLess(sizes[1], sizes[0])
        self.assertLess(sizes[2], sizes[1])
        self.assertLessEqual(sizes[3], sizes[2] * 1.001)
        self.assertEqual(len(self.check("--fast", stdin=data)), sizes[1])
        self.assertEqual(len(self.check("--best", stdin=data)), sizes[3])

    def test_engines_make_the_same_bytes(self):
        data = mixed(1500000)
        outputs = {self.check(f"--engine={e}", "-p2", stdin=data) for e in ENGINES}
        outputs.add(self.check("-p1", stdin=data))
        self.assertEqual(len(outputs), 1)

    def test_dictionary_makes_it_smaller_than_independent_blocks(self):
        line = mixed(20000)
        data = line * 20    # each block repeats the one before
        chained, independent = self.check("-b32", stdin=data), self.check("-b32", "-i", stdin=data)
        self.assertLess(len(chained) * 2, len(independent))
        self.assertEqual(gzip.decompress(independent), data)

    def test_independent_blocks_can_be_recovered(self):
        data = mixed(96 << 10)
        packed = self.check("-b32", "-i", stdin=data)
        # A block begins after the marker of a flush.  The second one decompresses alone.
        second = packed.index(b"\0\0\xff\xff") + 4
        self.assertEqual(zlib.decompressobj(-15).decompress(packed[second:], 32 << 10),
                         data[32 << 10:64 << 10])

    def test_members_tell_their_size(self):
        if "libdeflate" not in CODECS:
            self.skipTest("no libdeflate")
        data = mixed(300 << 10)
        packed = self.check("--fast-codec", "-b64", stdin=data)
        at = members = 0
        while at < len(packed):
            self.assertEqual(packed[at + 12:at + 16], b"CC\4\0")
            at += int.from_bytes(packed[at + 16:at + 20], "little")
            members += 1
        self.assertEqual((at, members), (len(packed), 5))

    def test_header_has_name_and_time_unless_told_not_to(self):
        os.utime(self.put("some name", b"data"), (1e9, 1.2e9))
        for option, flag, time in ((None, 8, 1200000000), ("-N", 8, 1200000000), ("-n", 0, 0)):
            packed = self.check("-c", *([option] if option else []), "some name")
            self.assertEqual((packed[3], int.from_bytes(packed[4:8], "little")), (flag, time))
            self.assertEqual(b"some name\0" in packed, flag == 8)
        self.assertEqual(self.check("-c", stdin=b"data")[3:8], bytes(5))


class Decompression(AppTest):
    def test_output_of_others_is_read(self):
        data = mixed(900000)
        for level in (0, 1, 6, 9):
            self.assertEqual(self.check("-dc", stdin=gzip.compress(data, level)), data)

    @need("gzip", "pigz")
    def test_output_of_gzip_and_pigz_is_read(self):
        data = mixed(900000)
        for writer in ("gzip", "pigz"):
            packed = self.check("-c", stdin=data, program=writer)
            self.assertEqual(self.check("-dc", stdin=packed), data)

    def test_members_follow_each_other(self):
        parts = [mixed(n, n) for n in (10, 200000, 0, 300001)]
        packed = b"".join(gzip.compress(p) for p in parts)
        self.assertEqual(self.check("-dc", stdin=packed), b"".join(parts))

    def test_members_with_and_without_sizes_may_be_mixed(self):
        data = mixed(400000)
        fast = self.check(f"--codec={CODECS[-1]}", "-b64", stdin=data)
        if "libdeflate" in CODECS:
            fast = self.check("--fast-codec", "-b64", stdin=data)
        plain = gzip.compress(data)
        for engine in ENGINES:
            for parts in ((fast, plain), (plain, fast), (fast, plain, fast)):
                self.assertEqual(self.check("-dc", f"--engine={engine}", stdin=b"".join(parts)),
                                 data * len(parts))

    def test_bgzf_members_are_read(self):
        data = mixed(150000)
        packed = b""
        for at in range(0, len(data), 50000):
            coder = zlib.compressobj(6, zlib.DEFLATED, -15)
            part = data[at:at + 50000]
            body = coder.compress(part) + coder.flush()
            size = 18 + len(body) + 8
            packed += (b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0" +
                       (size - 1).to_bytes(2, "little") + body +
                       zlib.crc32(part).to_bytes(4, "little") + len(part).to_bytes(4, "little"))
        self.assertEqual(self.check("-dc", stdin=packed), data)

    def test_every_optional_header_field_is_skipped(self):
        plain = gzip.compress(b"data")
        header = plain[:3] + b"\x1e" + plain[4:10]
        packed = header + b"\3\0abc" + b"name\0" + b"comment\0" + b"\0\0" + plain[10:]
        self.assertEqual(self.check("-dc", stdin=packed), b"data")

    def test_name_and_time_are_restored_on_demand(self):
        os.utime(self.put("original", b"data"), (1e9, 1.2e9))
        self.check("original")
        os.rename(self.path("original.gz"), self.path("other.gz"))
        os.utime(self.path("other.gz"), (1e9, 1.3e9))
        self.check("-dk", "other.gz")
        self.assertEqual(os.stat(self.path("other")).st_mtime, 1.3e9)
        self.check("-dN", "other.gz")
        self.assertEqual(self.names(), ["original", "other"])
        self.assertEqual(os.stat(self.path("original")).st_mtime, 1.2e9)

    def test_restored_name_stays_in_its_directory(self):
        os.mkdir(self.path("sub"))
        plain = gzip.compress(b"data")
        packed = plain[:3] + b"\x08" + plain[4:10] + b"../../escaped\0" + plain[10:]
        self.put("sub/x.gz", packed)
        self.check("-dN", "sub/x.gz")
        self.assertEqual(self.get("sub/escaped"), b"data")


class Files(AppTest):
    def test_file_is_replaced_with_time_and_mode(self):
        path = self.put("a", b"hello" * 1000)
        os.chmod(path, 0o640)
        os.utime(path, (1e9, 1.2e9))
        self.check("a")
        self.assertEqual(self.names(), ["a.gz"])
        about = os.stat(self.path("a.gz"))
        self.assertEqual((stat.S_IMODE(about.st_mode), about.st_mtime), (0o640, 1.2e9))
        self.check("-d", "a.gz")
        self.assertEqual(self.names(), ["a"])
        about = os.stat(self.path("a"))
        self.assertEqual((stat.S_IMODE(about.st_mode), about.st_mtime), (0o640, 1.2e9))
        self.assertEqual(self.get("a"), b"hello" * 1000)

    def test_keep_keeps(self):
        self.put("a", b"x")
        self.check("-k", "a")
        self.assertEqual(self.names(), ["a", "a.gz"])
        os.remove(self.path("a"))
        self.check("--keep", "--decompress", "a.gz")
        self.assertEqual(self.names(), ["a", "a.gz"])

    def test_many_files_are_treated_and_the_bad_ones_named(self):
        for i in range(20):
            self.put(f"f{i}", mixed(i * 1000, i))
        self.check("f0", "missing", *[f"f{i}" for i in range(1, 20)], status=1,
                   error="^ccgz: missing: No such file or directory\n$")
        self.assertEqual(self.names(), sorted(f"f{i}.gz" for i in range(20)))
        self.check("-d", *self.names())
        for i in range(20):
            self.assertEqual(self.get(f"f{i}"), mixed(i * 1000, i))

    def test_existing_file_is_kept_without_force(self):
        self.put("a", b"new")
        self.put("a.gz", b"old")
        self.check("a", status=2, error="^ccgz: a.gz: already exists -- not overwritten\n$")
        self.assertEqual((self.get("a"), self.get("a.gz")), (b"new", b"old"))
        self.check("-q", "a", status=2)
        self.check("-f", "a")
        self.assertEqual(gzip.decompress(self.get("a.gz")), b"new")

    def test_suffixes(self):
        self.put("a", b"x")
        self.check("-S", "z", "a")                      # z-suffix
        self.assertEqual(self.names(), ["az"])
        self.check("-dS", "z", "az")
        self.assertEqual(self.names(), ["a"])
        self.put("b.GZ", gzip.compress(b"y"))           # upper-suffix
        self.check("-d", "b.GZ")
        self.put("c.tgz", gzip.compress(b"z"))
        self.check("-d", "c.tgz")
        self.assertEqual(self.names(), ["a", "b", "c.tar"])
        self.check("-d", "a", status=2, error="a: unknown suffix -- ignored")
        self.put("d.gz", b"")
        self.check("d.gz", status=2, error="d.gz: already has a suffix .* -- unchanged")
        self.check("-S", "", "-d", "a", status=1, error="--suffix: ''")    # null-suffix-clobber
        self.assertEqual(self.get("a"), b"x")

    def test_decompression_finds_the_file_with_the_suffix(self):
        self.put("a", b"x")
        self.check("a")
        self.check("-d", "a")
        self.assertEqual(self.names(), ["a"])

    def test_recursion_treats_every_file_once(self):
        os.makedirs(self.path("t/u/v"))
        for name in ("t/a", "t/u/b", "t/u/v/c"):
            self.put(name, name.encode())
        self.put("t/d.gz", b"left alone")
        self.check("t", status=2, error="t: is a directory -- ignored")
        self.check("-r", "t")
        self.assertEqual(gzip.decompress(self.get("t/u/v/c.gz")), b"t/u/v/c")
        self.assertEqual(self.get("t/d.gz"), b"left alone")
        os.remove(self.path("t/d.gz"))
        self.check("-dr", "t")
        self.assertEqual(self.get("t/u/b"), b"t/u/b")

    def test_links_are_not_replaced_without_force(self):
        self.put("a", b"x")
        os.link(self.path("a"), self.path("b"))
        os.symlink("a", self.path("c"))
        self.check("a", status=2, error="a: has 1 other link -- unchanged")
        self.check("c", status=1, error="c: Too many levels of symbolic links")
        self.assertEqual(gzip.decompress(self.check("-c", "c")), b"x")
        self.check("-f", "a")
        self.assertEqual(self.names(), ["a.gz", "b", "c"])

    def test_standard_input_is_a_dash(self):
        packed = self.check("-", stdin=b"data")
        self.assertEqual(gzip.decompress(packed), b"data")
        self.assertEqual(self.check("-dc", "-", stdin=packed), b"data")

    def test_list_shows_true_sizes(self):
        self.put("a", b"x" * 1000)
        self.put("b.gz", gzip.compress(b"y" * 500) * 2)
        self.check("a")
        size = os.stat(self.path("a.gz")).st_size
        lines = self.check("-l", "a.gz", "b.gz").decode().split("\n")
        self.assertRegex(lines[0], "compressed +uncompressed +ratio uncompressed_name")
        self.assertEqual(lines[1].split(), [str(size), "1000", f"{100 - size / 10:.1f}%", "a"])
        self.assertEqual(lines[2].split()[1:], ["1000", f"{100 - 100 * len(self.get('b.gz')) / 1000:.1f}%", "b"])
        self.assertEqual(lines[3].split()[1], "2000")
        self.assertRegex(self.check("-lv", "a.gz").decode(), f"defla {zlib.crc32(b'x' * 1000):08x}")
        self.assertEqual(self.names(), ["a.gz", "b.gz"])

    def test_test_writes_nothing(self):
        self.put("a.gz", gzip.compress(b"x"))
        self.assertEqual(self.check("-t", "a.gz"), b"")
        self.check("-tv", "a.gz", error="^a.gz:\t OK\n$")
        self.assertEqual(self.names(), ["a.gz"])

    def test_verbose_tells_ratio_and_name(self):
        self.put("a", b"x" * 10000)
        self.check("-v", "a", error=r"^a:\t 9\d\.\d% -- replaced with a.gz\n$")
        self.check("-dvk", "a.gz", error=r"^a.gz:\t 9\d\.\d% -- created a\n$")


class Words(AppTest):
    def test_help_names_every_option_and_version_the_codecs(self):
        text = self.check("--help").decode()
        for word in ("-b, --blocksize", "-c, --stdout", "-d, --decompress", "-f, --force",
                     "-h, --help", "-i, --independent", "-k, --keep", "-l, --list",
                     "-n, --no-name", "-N, --name", "-p, --processes", "-q, --quiet",
                     "-r, --recursive", "-S, --suffix", "-t, --test", "-v, --verbose",
                     "-V, --version", "--fast-codec", "--engine", "--codec", "Exit status"):
            self.assertIn(word, text)
        self.assertTrue(all(len(line) <= 100 for line in text.split("\n")))
        self.assertEqual(self.check("-h").decode(), text)
        self.assertRegex(self.check("-V").decode(), r"^ccgz \d+\.\d+\.\d+ \(codecs: zlib")

    def test_wrong_options_are_refused_with_what_is_wanted(self):
        for args, error in ((("-p", "0"), "--processes: '0': want 1 to 256"),
                            (("-p", "x"), "--processes: 'x'"),
                            (("-b", "1"), "--blocksize: '1': want 32 to 65536"),
                            (("-b", "-1"), "--blocksize: '-1'"),
                            (("--engine=steam",), "--engine: 'steam': want fiber, thread"),
                            (("--codec=brick",), "--codec: 'brick': want zlib"),
                            (("--bogus",), "try ccgz --help")):
            self.check(*args, status=1, error=error)

    def test_blocks_may_be_given_in_megabytes(self):
        data = mixed(1200000)
        self.assertEqual(self.check("-b1m", stdin=data), self.check("-b", "1024", stdin=data))


if __name__ == "__main__":
    main()
