"""stage_test.py WEIR: `weir stage` with files of every awkward size, with every bad input, and its reports."""
import json
import os
import resource
import unittest
import zlib

import tool

CHUNK = 4096


class Works(tool.ToolTest):
    def test_every_awkward_size_comes_back(self):
        for size in (1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 10 * CHUNK + 17):
            with self.subTest(size=size):
                source = self.file(size)
                output = self.folder / "output"
                self.assert_works(self.weir("stage", source, "--chunk", CHUNK, "--output", output))
                self.assertEqual(output.read_bytes(), source.read_bytes())

    def test_every_number_of_streams_and_chunks_in_flight(self):
        source = self.file(20 * CHUNK + 5)
        output = self.folder / "output"
        for streams in (1, 2, 3, 4, 5, 8):
            for in_flight in (1, 2, 7):
                with self.subTest(streams=streams, in_flight=in_flight):
                    self.assert_works(self.weir("stage", source, "--chunk", "4K", "--streams", streams, "--in-flight",
                                                in_flight, "--output", output, "--passes", 1))
                    self.assertEqual(output.read_bytes(), source.read_bytes())

    def test_json_report(self):
        source = self.file(100_000)
        run = self.weir("stage", source, "--chunk", CHUNK, "--streams", 3, "--in-flight", 5, "--json")
        self.assert_works(run)
        report = json.loads(run.stdout)
        self.assertEqual(report["file"], str(source))
        self.assertEqual(report["bytes"], 100_000)
        self.assertEqual(report["chunks"], 25)
        self.assertEqual(report["streams"], 3)
        self.assertEqual(report["in_flight"], 5)
        self.assertEqual(report["crc32"], f"{zlib.crc32(source.read_bytes()):08x}")
        self.assertIsNone(report["output"])
        for part in ("whole_job", "device_part"):
            one, several = report[part]["one_stream_gb_per_s"], report[part]["several_streams_gb_per_s"]
            self.assertGreater(one, 0)
            self.assertAlmostEqual(report[part]["ratio"], several / one, places=6)

    def test_text_report_has_no_progress_bar_where_there_is_no_terminal(self):
        run = self.weir("stage", self.file(100_000))
        self.assert_works(run)
        for word in ("100000 bytes", "crc-32", "whole job", "device part", "GB/s"):
            self.assertIn(word, run.stdout)
        self.assertNotIn("\r", run.stdout)

    def test_without_a_file_the_compiler_is_staged(self):
        run = self.weir("stage", "--passes", 1, "--json")
        self.assert_works(run)
        self.assertIn("cc1plus", json.loads(run.stdout)["file"])

    def test_every_schedule(self):
        source = self.file(50 * CHUNK + 1)
        for schedule in ("serial", "random:7", "late:7"):
            with self.subTest(schedule=schedule):
                self.assert_works(self.weir("stage", source, "--chunk", CHUNK, WEIR_EMBEDDED_SCHEDULE=schedule))

    def test_another_device(self):
        run = self.weir("stage", self.file(1000), "--device", 1, "--json", WEIR_EMBEDDED_DEVICES="2")
        self.assert_works(run)
        self.assertEqual(json.loads(run.stdout)["device"], 1)

    def test_output_may_be_the_input(self):
        source = self.file(10 * CHUNK)
        before = source.read_bytes()
        self.assert_works(self.weir("stage", source, "--output", source))
        self.assertEqual(source.read_bytes(), before)

    def test_output_may_be_no_file(self):
        self.assert_works(self.weir("stage", self.file(1000), "--output", "/dev/null"))
        self.assertFalse(os.path.isfile("/dev/null"))


class Graph(tool.ToolTest):
    def graph_of(self, *arguments, **environment):
        run = self.weir("stage", *arguments, "--graph", "--passes", 1, "--json", **environment)
        self.assert_works(run)
        return json.loads(run.stdout)

    def test_json_report_says_how_often_it_was_replayed(self):
        source = self.file(21 * CHUNK + 5)
        report = self.graph_of(source, "--chunk", CHUNK)
        self.assertEqual(report["crc32"], f"{zlib.crc32(source.read_bytes()):08x}")
        graph = report["graph"]
        self.assertEqual((graph["round_chunks"], graph["rounds_replayed"], graph["chunks_queued"]), (4, 3, 10))
        self.assertEqual(graph["nodes_changed"], 16)
        self.assertGreater(graph["preparation_seconds"], 0)
        several = [part["several_streams_gb_per_s"] for part in (graph["whole_job"], report["whole_job"])]
        self.assertAlmostEqual(graph["ratio_to_queued"], several[0] / several[1], places=6)

    def test_without_the_option_there_is_none(self):
        run = self.weir("stage", self.file(20 * CHUNK), "--chunk", CHUNK, "--json")
        self.assertIsNone(json.loads(run.stdout)["graph"])

    def test_text_report(self):
        run = self.weir("stage", self.file(12 * CHUNK), "--chunk", CHUNK, "--graph")
        self.assert_works(run)
        self.assertIn("1 round of 4 chunks replayed, 8 chunks one by one; 16 nodes changed in place", run.stdout)
        self.assertIn("with graph", run.stdout)

    def test_files_too_short_for_a_round_are_told(self):
        for size in (1, CHUNK, 2 * CHUNK, 11 * CHUNK):
            with self.subTest(size=size):
                graph = self.graph_of(self.file(size), "--chunk", CHUNK)["graph"]
                self.assertEqual(graph["rounds_replayed"], 0)
        run = self.weir("stage", self.file(1), "--graph")
        self.assert_works(run)
        self.assertIn("too few chunks for rounds; a smaller --chunk makes more", run.stdout)

    def test_what_is_written_came_through_the_graph(self):
        source = self.file(30 * CHUNK + 7)
        output = self.folder / "output"
        for streams, in_flight in ((1, 8), (2, 2), (3, 7), (4, 1), (8, 12)):
            with self.subTest(streams=streams, in_flight=in_flight):
                graph = self.graph_of(source, "--chunk", CHUNK, "--streams", streams, "--in-flight", in_flight,
                                      "--output", output)["graph"]
                self.assertGreater(graph["rounds_replayed"], 0)
                self.assertEqual(output.read_bytes(), source.read_bytes())


class Pipes(tool.ToolTest):
    def test_standard_output(self):
        source = self.file(30 * 1000 + 7)
        run = self.weir("stage", source, "--output", "-", text=False)
        self.assertEqual(run.returncode, 0)
        self.assertEqual(run.stdout, source.read_bytes())
        self.assertIn(b"crc-32", run.stderr)


class Refused(tool.ToolTest):
    def test_no_such_file(self):
        self.assert_fails(self.weir("stage", self.folder / "none"), 1, "none", "No such file")

    def test_directory(self):
        self.assert_fails(self.weir("stage", self.folder), 1, self.folder, "is a directory")

    def test_empty(self):
        self.assert_fails(self.weir("stage", self.file(0)), 1, "is empty")

    def test_not_a_file(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.assert_fails(self.weir("stage", pipe), 1, "not a regular file")
        self.assert_fails(self.weir("stage", "/dev/null"), 1, "not a regular file")

    @unittest.skipIf(os.geteuid() == 0, "root reads everything")
    def test_unreadable(self):
        source = self.file(1000)
        source.chmod(0)
        self.assert_fails(self.weir("stage", source), 1, "Permission denied")

    # The kernel reports a page as the size of these files and returns less, like a file that shrinks while it is read.
    @unittest.skipUnless(os.path.isfile("/sys/devices/system/cpu/online"), "no /sys")
    def test_shorter_than_it_says(self):
        run = self.weir("stage", "/sys/devices/system/cpu/online")
        self.assert_fails(run, 1, "/sys/devices/system/cpu/online", "truncated while it was read")

    def test_bad_options(self):
        source = self.file(1000)
        for options in (["--streams", 0], ["--streams", 65], ["--streams", "x"], ["--chunk", 0], ["--chunk", "2G"],
                        ["--chunk", "1Q"], ["--in-flight", 0], ["--passes", 0], ["--device", -1], ["--none"], ["more"]):
            with self.subTest(options=options):
                self.assert_fails(self.weir("stage", source, *options), 2)
        self.assert_fails(self.weir("stage", ""), 2)  # a script's variable that was never set
        self.assert_fails(self.weir("stage", source, "--output", ""), 2)
        self.assert_fails(self.weir("sage"), 2)
        self.assert_fails(self.weir(), 2)

    def test_device_that_is_not_there(self):
        self.assert_fails(self.weir("stage", self.file(1000), "--device", 1), 1, "no device 1")

    def test_driver_that_is_not_there(self):
        run = self.weir("stage", self.file(1000), WEIR_DRIVER="cuda", WEIR_LIBCUDA="/none/libcuda.so.1")
        self.assert_fails(run, 1, "/none/libcuda.so.1")

    def test_device_memory_that_is_not_there(self):
        run = self.weir("stage", self.file(1 << 20), "--chunk", "1M", WEIR_EMBEDDED_MEMORY="1M")
        self.assert_fails(run, 1, "OUT_OF_MEMORY", "--chunk")


class Output(tool.ToolTest):
    """An output that cannot be written leaves nothing behind, and what was there stays."""

    def setUp(self):
        super().setUp()
        self.source = self.file(200_000)
        self.out = self.folder / "out"
        self.out.mkdir()

    def tearDown(self):
        self.assertEqual([p.name for p in self.out.iterdir() if p.name != "there"], [])

    def stage_to(self, output):
        return self.weir("stage", self.source, "--chunk", CHUNK, "--output", output)

    def test_no_space(self):
        self.assert_fails(self.stage_to("/dev/full"), 1, "/dev/full", "No space left")

    # RLIMIT_FSIZE simulates a full disk: the file cannot grow to its required size.
    def test_no_space_in_the_folder(self):
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
        try:
            run = self.stage_to(self.out / "output")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        self.assert_fails(run, 1, "output", "File too large")

    def test_no_folder(self):
        self.assert_fails(self.stage_to(self.out / "none" / "output"), 1, "No such file")

    def test_directory(self):
        self.assert_fails(self.stage_to(self.out), 1, "is a directory")

    def test_job_that_fails(self):
        (self.out / "there").write_text("before")
        self.source.write_bytes(b"")
        self.assert_fails(self.stage_to(self.out / "there"), 1, "is empty")
        self.assertEqual((self.out / "there").read_text(), "before")


if __name__ == "__main__":
    tool.main()
