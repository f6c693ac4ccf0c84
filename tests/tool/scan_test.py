"""scan_test.py WEIR: `weir scan` with files of every awkward size, against zlib and a plain count, and its reports."""
import collections
import json
import math
import os
import unittest
import xml.etree.ElementTree as ElementTree
import zlib

import tool

CHUNK = 4096


def entropy(data):
    return -sum(n / len(data) * math.log2(n / len(data)) for n in collections.Counter(data).values())


class ScanTest(tool.ToolTest):
    def report_of(self, source, *arguments, **environment):
        run = self.weir("scan", source, "--passes", 1, "--json", *arguments, **environment)
        self.assert_works(run)
        return json.loads(run.stdout)

    def assert_found(self, report, data):
        counts = collections.Counter(data)
        self.assertEqual(report["crc32"], f"{zlib.crc32(data):08x}")
        self.assertEqual(report["counts"], [counts[b] for b in range(256)])
        self.assertAlmostEqual(report["entropy_bits_a_byte"], entropy(data), places=9)

    def contents(self, data, name="input"):
        path = self.folder / name
        path.write_bytes(data)
        return path


class Finds(ScanTest):
    def test_every_awkward_size(self):
        for size in (1, 2, 15, 16, 17, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 20 * CHUNK + 17):
            with self.subTest(size=size):
                source = self.file(size)
                self.assert_found(self.report_of(source, "--chunk", CHUNK), source.read_bytes())

    # A shorter last chunk needs more leading zeros than the slot's memory had for the chunk before.
    def test_every_awkward_chunk(self):
        source = self.file(50_021)
        for chunk in (1001, 1008, 15_999, 16_001, 50_020, 50_021):
            with self.subTest(chunk=chunk):
                report = self.report_of(source, "--chunk", chunk, "--in-flight", 2)
                self.assert_found(report, source.read_bytes())

    def test_every_kind_of_contents(self):
        kinds = {
            "zeros": bytes(100_000),
            "ones": b"\xff" * 100_001,
            "one letter": b"a" * 99_999,
            "all bytes alike": bytes(range(256)) * 400,
            "a word": b"123456789",
            "zeros, then a bit": bytes(70_000) + b"\x80",
        }
        for kind, data in kinds.items():
            with self.subTest(kind=kind):
                self.assert_found(self.report_of(self.contents(data), "--chunk", "16K"), data)

    def test_every_number_of_streams_chunks_in_flight_and_readers(self):
        source = self.file(20 * CHUNK + 5)
        for streams, in_flight, readers in ((1, 1, 1), (2, 3, 1), (3, 7, 2), (4, 16, 3), (8, 5, 8), (64, 256, 64)):
            with self.subTest(streams=streams, in_flight=in_flight, readers=readers):
                report = self.report_of(source, "--chunk", CHUNK, "--streams", streams, "--in-flight", in_flight,
                                        "--readers", readers)
                self.assert_found(report, source.read_bytes())

    # A chunk with several blocks, and several tiles for each block.
    def test_large_chunks(self):
        source = self.file(5_000_011)
        for chunk in ("1M", "3000001", "1G"):
            with self.subTest(chunk=chunk):
                self.assert_found(self.report_of(source, "--chunk", chunk), source.read_bytes())

    def test_every_schedule(self):
        source = self.file(30 * CHUNK + 1)
        for schedule in ("serial", "random:7", "late:7"):
            with self.subTest(schedule=schedule):
                report = self.report_of(source, "--chunk", CHUNK, WEIR_EMBEDDED_SCHEDULE=schedule)
                self.assert_found(report, source.read_bytes())

    def test_threads_of_blocks_in_any_order(self):
        source = self.file(100_003)
        for order in ("random:1", "random:2"):
            self.assert_found(self.report_of(source, WEIR_EMBEDDED_THREADS=order), source.read_bytes())

    def test_another_device(self):
        source = self.file(1000)
        report = self.report_of(source, "--device", 1, WEIR_EMBEDDED_DEVICES="2")
        self.assertEqual(report["device"], 1)
        self.assert_found(report, source.read_bytes())


class Reports(ScanTest):
    def test_json(self):
        source = self.file(100_000)
        report = self.report_of(source, "--chunk", CHUNK, "--streams", 3, "--in-flight", 5, "--readers", 2)
        self.assertEqual(report["file"], str(source))
        for key, value in {"bytes": 100_000, "chunks": 25, "chunk_bytes": CHUNK, "streams": 3, "in_flight": 5,
                           "readers": 2, "passes": 1, "driver": "embedded"}.items():
            self.assertEqual(report[key], value, key)
        for row in ("copies", "kernels", "both", "from_file"):
            for column in ("one_stream", "several_streams", "from_graphs"):
                self.assertGreater(report[row][f"{column}_gb_per_s"], 0)
        for column, share in zip(("one_stream", "several_streams", "from_graphs"), report["of_the_slower"]):
            key = f"{column}_gb_per_s"
            slower = min(report["copies"][key], report["kernels"][key])
            self.assertAlmostEqual(share, report["both"][key] / slower, places=6)

    def test_text(self):
        source = self.contents(b"\0" * 90_000 + b"abcd" * 2500)
        run = self.weir("scan", source, LC_ALL="C")
        self.assert_works(run)
        for word in ("100000 bytes", "crc-32", f"{zlib.crc32(source.read_bytes()):08x}", "entropy     0.6690", "1 stream",
                     "from graphs", "copies alone", "GB/s", "of the slower"):
            self.assertIn(word, run.stdout)
        self.assertNotIn("\r", run.stdout)
        self.assertTrue(run.stdout.isascii())

    # 90 % zeros and 2.5 % each of four neighbours: two columns of 64 are filled, and nothing else.
    def test_picture(self):
        source = self.contents(b"\0" * 90_000 + b"`abc" * 2500)
        lines = self.weir("scan", source, LC_ALL="C").stdout.splitlines()
        top = next(i for i, line in enumerate(lines) if "100 %" in line)
        columns = [line[11:].ljust(64) for line in lines[top + 0:top + 8]]
        filled = ["".join(rows).strip() != "" for rows in zip(*(c[1:65] if c[0] in "|+" else c[:64] for c in columns))]
        self.assertEqual([i for i, there in enumerate(filled) if there], [0, 24])

    def test_picture_in_utf8(self):
        run = self.weir("scan", self.file(100_000), LC_ALL="C.UTF-8")
        self.assert_works(run)
        self.assertIn("┤", run.stdout)
        self.assertIn("█", run.stdout)

    def test_without_a_file_the_compiler_is_scanned(self):
        self.assertIn("cc1plus", self.report_of("--chunk=2M")["file"])


class Svg(ScanTest):
    SPACE = "{http://www.w3.org/2000/svg}"

    def drawing_of(self, source):
        output = self.folder / "picture.svg"
        self.assertEqual(self.report_of(source, "--svg", output)["picture"], str(output))
        return ElementTree.fromstring(output.read_bytes())

    def test_a_bar_for_each_byte_that_is_there(self):
        root = self.drawing_of(self.contents(b"a" * 75 + b"b" * 24 + b"\xff"))
        bars = {}
        for bar in root.iter(f"{self.SPACE}rect"):
            if bar.get("class") == "bar":
                name, share = bar.find(f"{self.SPACE}title").text.split(": ")
                bars[name] = (share, float(bar.get("height")), float(bar.get("x")))
        self.assertEqual({name: share for name, (share, _, _) in bars.items()},
                         {"61": "75.0000 %", "62": "24.0000 %", "ff": "1.0000 %"})
        heights = [bars[name][1] for name in ("61", "62", "ff")]
        self.assertEqual(heights, sorted(heights, reverse=True))
        self.assertAlmostEqual(heights[2], 100, delta=0.01)  # 1 % is half of a scale from 0.01 % to 100 %, 200 high
        self.assertLess(bars["61"][2], bars["62"][2])

    def test_all_that_is_drawn_is_in_the_picture(self):
        root = self.drawing_of(self.file(100_000))
        width, height = map(float, root.get("viewBox").split()[2:])
        for thing in root.iter(f"{self.SPACE}rect"):
            x, y = (float(thing.get(a, 0)) for a in ("x", "y"))
            self.assertTrue(0 <= x <= x + float(thing.get("width")) <= width)
            self.assertTrue(0 <= y <= y + float(thing.get("height")) <= height)

    def test_any_name_is_a_title(self):
        for name, title in {"a<b>&\"c\".bin": "a<b>&\"c\".bin", "é€😀": "é€😀", os.fsdecode(b"\xff\xc3x"): "��x",
                            "new\nline": "new\nline", "\x01": "�"}.items():
            with self.subTest(name=name):
                root = self.drawing_of(self.contents(b"abc", name))
                self.assertIn(title, [text.text for text in root.iter(f"{self.SPACE}text")])

    def test_text_report_names_it(self):
        run = self.weir("scan", self.file(1000), "--passes", 1, "--svg", self.folder / "a.svg")
        self.assert_works(run)
        self.assertIn(f"drawn to    {self.folder / 'a.svg'}", run.stdout)


class SvgThatCannotBeWritten(ScanTest):
    """It leaves nothing behind, and what was there stays."""

    def setUp(self):
        super().setUp()
        self.source = self.file(200_000, "input.svg")
        self.out = self.folder / "out"
        self.out.mkdir()
        (self.out / "there.svg").write_text("before")

    def tearDown(self):
        self.assertEqual([p.name for p in self.out.iterdir()], ["there.svg"])
        self.assertEqual((self.out / "there.svg").read_text(), "before")

    def scan_to(self, output, **environment):
        return self.weir("scan", self.source, "--svg", output, **environment)

    def test_no_folder(self):
        self.assert_fails(self.scan_to(self.out / "none" / "a.svg"), 1, "No such file")

    def test_directory(self):
        self.assert_fails(self.scan_to(self.out), 1, "is a directory")

    def test_no_space(self):
        self.assert_fails(self.scan_to("/dev/full"), 1, "/dev/full", "No space left")

    def test_the_file_itself(self):
        before = self.source.read_bytes()
        self.assert_fails(self.scan_to(self.out / ".." / self.source.name), 1, "is what is scanned")
        self.assertEqual(self.source.read_bytes(), before)

    def test_job_that_fails(self):
        self.assert_fails(self.scan_to(self.out / "there.svg", WEIR_CXX="/nonexistent"), 1, "no such program")


class Refused(ScanTest):
    def test_no_file_to_scan(self):
        self.assert_fails(self.weir("scan", self.folder / "none"), 1, "none", "No such file")
        self.assert_fails(self.weir("scan", self.folder), 1, "is a directory")
        self.assert_fails(self.weir("scan", self.file(0)), 1, "is empty")
        self.assert_fails(self.weir("scan", "/dev/null"), 1, "not a regular file")

    @unittest.skipUnless(os.path.isfile("/sys/devices/system/cpu/online"), "no /sys")
    def test_shorter_than_it_says(self):
        run = self.weir("scan", "/sys/devices/system/cpu/online")
        self.assert_fails(run, 1, "truncated while it was read")

    def test_bad_options(self):
        source = self.file(1000)
        for options in (["--streams", 0], ["--streams", 65], ["--chunk", 0], ["--chunk", "2G"], ["--in-flight", 0],
                        ["--passes", 0], ["--device", -1], ["--readers", 0], ["--readers", 65], ["--graph"], ["more"],
                        ["--svg", self.folder / "picture.png"]):
            with self.subTest(options=options):
                self.assert_fails(self.weir("scan", source, *options), 2)
        self.assert_fails(self.weir("scan", ""), 2)
        for size in ("3X", "K", "", "1KK", "-1", "99999999999G"):
            self.assert_fails(self.weir("scan", source, "--chunk", size), 2, f"'{size}' is not a size")

    def test_device_that_is_not_there(self):
        self.assert_fails(self.weir("scan", self.file(1000), "--device", 1), 1, "no device 1")

    def test_device_memory_that_is_not_there(self):
        run = self.weir("scan", self.file(1 << 20), "--chunk", "1M", WEIR_EMBEDDED_MEMORY="1M")
        self.assert_fails(run, 1, "OUT_OF_MEMORY", "--chunk")

    def test_compiler_that_is_not_there(self):
        run = self.weir("scan", self.file(1000), WEIR_CXX="/nonexistent")
        self.assert_fails(run, 1, "WEIR_CXX is '/nonexistent'", "name g++ or clang++ there, or unset it")
        run = self.weir("scan", self.file(1000), PATH=str(self.folder))
        self.assert_fails(run, 1, "no C++ compiler on this machine", "apt install g++")

    def test_compiler_that_does_not_work(self):
        run = self.weir("scan", self.file(1000), WEIR_CXX="false", WEIR_CACHE="0")
        self.assert_fails(run, 1, "scan.cu")


if __name__ == "__main__":
    tool.main()
