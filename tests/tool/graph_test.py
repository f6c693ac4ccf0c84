"""graph_test.py WEIR: `weir graph` with a stand-in for Graphviz, without one, and with the real one where it is installed."""
import os
import shutil
import unittest

import tool

TEXT = 'digraph weir { a -> b [label="x"]; }\n'

# Prints its arguments, and copies its input to its output.
ECHO = """#!/bin/sh
printf '%s|' "$0" "$@"
cat
"""


class GraphTest(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.programs = self.folder / "programs"
        self.programs.mkdir()
        self.out = self.folder / "out"
        self.out.mkdir()
        self.source = self.folder / "graph.dot"
        self.source.write_text(TEXT)

    def stand_in(self, text, mode=0o755):
        dot = self.programs / "dot"
        dot.write_text(text)
        dot.chmod(mode)

    def draw(self, output, source=None, **environment):
        path = f"{self.programs}:/usr/bin:/bin" if (self.programs / "dot").exists() else str(self.programs)
        return self.weir("graph", source or self.source, "-o", self.out / output, **{"PATH": path, **environment})

    def left(self):
        return sorted(p.name for p in self.out.iterdir())


class Draws(GraphTest):
    def test_the_format_is_the_extension(self):
        self.stand_in(ECHO)
        for extension in ("svg", "png", "pdf", "dot"):
            with self.subTest(extension=extension):
                output = f"a picture; $HOME.{extension}"
                self.assert_works(self.draw(output))
                self.assertEqual((self.out / output).read_text(), f"{self.programs}/dot|-T{extension}|{TEXT}")
                (self.out / output).unlink()
        self.assertEqual(self.left(), [])

    def test_names_are_no_options_and_no_commands(self):
        self.stand_in(ECHO)
        for name in ("-Tpng", "; exit 3", "$(false)", "a\nb"):
            source = self.folder / name
            source.write_text(TEXT)
            self.assert_works(self.draw("graph.svg", source))
            self.assertTrue((self.out / "graph.svg").read_text().endswith(f"|-Tsvg|{TEXT}"))

    def test_a_text_is_rewritten_in_place(self):
        self.stand_in(ECHO)
        self.assert_works(self.weir("graph", self.source, "--output", self.source, PATH=f"{self.programs}:/bin"))
        self.assertEqual(self.source.read_text(), f"{self.programs}/dot|-Tdot|{TEXT}")

    def test_warnings_are_passed_on(self):
        self.stand_in("#!/bin/sh\ncat >/dev/null\necho picture\necho Warning: one >&2\necho two >&2\n")
        run = self.draw("graph.svg")
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", "weir: 'dot' says: Warning: one two\n"))
        self.assertEqual((self.out / "graph.svg").read_text(), "picture\n")

    def test_much_is_said(self):
        self.stand_in("#!/bin/sh\ncat >/dev/null\nhead -c 1000000 /dev/zero | tr '\\0' w >&2\nexit 1\n")
        self.assert_fails(self.draw("graph.svg"), 1, "wwww")

    @unittest.skipUnless(shutil.which("dot"), "no Graphviz")
    def test_graphviz_itself(self):
        begins = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF", "dot": b"digraph weir {"}
        for extension, begin in begins.items():
            with self.subTest(extension=extension):
                self.assert_works(self.draw(f"graph.{extension}", PATH=os.environ["PATH"]))
                self.assertTrue((self.out / f"graph.{extension}").read_bytes().startswith(begin))
        self.source.write_text("digraph { a -> ")
        self.assert_fails(self.draw("bad.svg", PATH=os.environ["PATH"]), 1, "status 1", "syntax error")
        self.assertNotIn("bad.svg", self.left())


class Refused(GraphTest):
    """Nothing is left behind, and what was there stays."""

    def tearDown(self):
        self.assertEqual([name for name in self.left() if name != "there.svg"], [])

    def test_no_graphviz(self):
        self.assert_fails(self.draw("graph.svg"), 1, "'dot'", "PATH", "package graphviz")

    def test_one_that_cannot_run(self):
        self.stand_in(ECHO, mode=0o644)
        run = self.weir("graph", self.source, "-o", self.out / "graph.svg", PATH=str(self.programs))
        self.assert_fails(run, 1, "cannot run", "Permission denied")

    def test_its_failure_is_passed_on(self):
        (self.out / "there.svg").write_text("before")
        self.stand_in("#!/bin/sh\necho half a picture\necho 'Error: <stdin>: syntax error in line 3' >&2\nexit 7\n")
        self.assert_fails(self.draw("there.svg"), 1, "status 7", "syntax error in line 3")
        self.assertEqual((self.out / "there.svg").read_text(), "before")

    def test_it_dies(self):
        self.stand_in("#!/bin/sh\nkill -9 $$\n")
        self.assert_fails(self.draw("graph.svg"), 1, "signal 9")

    def test_no_text(self):
        self.stand_in(ECHO)
        self.assert_fails(self.draw("graph.svg", self.folder / "none.dot"), 1, "none.dot", "No such file")
        self.assert_fails(self.draw("graph.svg", self.folder), 1, "is a directory")

    def test_no_folder(self):
        self.stand_in(ECHO)
        self.assert_fails(self.draw("none/graph.svg"), 1, "none/graph.svg", "No such file")

    def test_no_space(self):
        self.stand_in("#!/bin/sh\ncat >/dev/null\necho picture || { echo 'cannot write' >&2; exit 1; }\n")
        (self.folder / "full.svg").symlink_to("/dev/full")
        run = self.weir("graph", self.source, "-o", self.folder / "full.svg", PATH=f"{self.programs}:/usr/bin:/bin")
        self.assert_fails(run, 1, "status 1")

    def test_bad_options(self):
        self.stand_in(ECHO)
        for output in ("graph", "graph.jpeg", "graph.", ".svg", "svg"):
            with self.subTest(output=output):
                self.assert_fails(self.draw(output), 2, ".svg, .png, .pdf or .dot")
        self.assert_fails(self.weir("graph", self.source, "-o", ""), 2)
        self.assert_fails(self.weir("graph", "", "-o", self.out / "graph.svg"), 2)
        self.assert_fails(self.weir("graph", self.source), 2)
        self.assert_fails(self.weir("graph"), 2)


if __name__ == "__main__":
    tool.main()
