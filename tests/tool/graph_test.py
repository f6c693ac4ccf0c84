"""graph_test.py WEIR: `weir graph` with a stand-in for Graphviz, without one, and with the real one where it is installed."""
import os
import shutil
import unittest

import tool

TEXT = """digraph dot {
subgraph cluster_1 {
label="graph_1" graph[style="dashed"];
"graph_1_node_0"[style="solid" shape="invtrapezium"label="0
MEMSET
(0,400)
"];

"graph_1_node_1"[style="solid" shape="rectangle" label="1
HOST
"];

"graph_1_node_0" -> "graph_1_node_1";
}
"graph_1_node_0"[weir_call_site="main.cpp:12" weir_tag="clear"];
}
"""

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

    def assert_drawn(self, text, extension):
        self.assertTrue(text.startswith(f"{self.programs}/dot|-T{extension}|digraph weir {{\n"), text)
        self.assertTrue(text.endswith("}\n"), text)
        self.assertIn("<B>clear</B><BR/>fill 400 bytes<BR/>", text)
        self.assertIn("n0 -> n1;", text)

    def left(self):
        return sorted(p.name for p in self.out.iterdir())


class Draws(GraphTest):
    def test_the_format_is_the_extension(self):
        self.stand_in(ECHO)
        for extension in ("svg", "png", "pdf", "dot"):
            with self.subTest(extension=extension):
                output = f"a picture; $HOME.{extension}"
                self.assert_works(self.draw(output))
                self.assert_drawn((self.out / output).read_text(), extension)
                (self.out / output).unlink()
        self.assertEqual(self.left(), [])

    def test_names_are_no_options_and_no_commands(self):
        self.stand_in(ECHO)
        for name in ("-Tpng", "; exit 3", "$(false)", "a\nb"):
            source = self.folder / name
            source.write_text(TEXT)
            self.assert_works(self.draw("graph.svg", source))
            self.assert_drawn((self.out / "graph.svg").read_text(), "svg")

    def test_pipes(self):
        self.stand_in(ECHO)
        for options, format in (([], "svg"), (["--format", "png"], "png")):
            run = self.weir("graph", "-", "-o", "-", *options, stdin=TEXT, PATH=f"{self.programs}:/bin")
            self.assert_works(run)
            self.assert_drawn(run.stdout, format)

    def test_a_text_is_rewritten_in_place(self):
        self.stand_in(ECHO)
        self.assert_works(self.weir("graph", self.source, "--output", self.source, PATH=f"{self.programs}:/bin"))
        self.assert_drawn(self.source.read_text(), "dot")

    def test_options(self):
        self.stand_in(ECHO)
        arguments = ("graph", self.source, "-o", self.out / "graph.svg")
        for option, with_it, without_it in (
            (("--direction", "right"), "rankdir=LR", "rankdir=TB"),
            (("--direction", "down"), "rankdir=TB", "rankdir=LR"),
            (("--no-call-sites",), "<B>clear</B>", "main.cpp:12"),
            (("--no-legend",), "<B>clear</B>", "TABLE"),
            (("--fold-above", "0"), "main.cpp:12", "times"),
            (("--no-fold",), "main.cpp:12", "times"),
        ):
            with self.subTest(option=option):
                self.assert_works(self.weir(*arguments, *option, PATH=f"{self.programs}:/bin"))
                text = (self.out / "graph.svg").read_text()
                self.assertIn(with_it, text)
                self.assertNotIn(without_it, text)

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
        self.assert_fails(self.draw("graph.svg", self.folder), 1, "cannot read", "directory")

    def test_a_text_that_is_no_graph(self):
        self.stand_in(ECHO)
        for text, error in (
            (b"", "line 1: expected 'digraph'"),
            (b"digraph {\n a -> ", "line 2: expected a name, found the end of the file"),
            (b'digraph {\n\n a [label="', "line 3: the quoted string has no end"),
            (b"\x00\xff", "line 1: unexpected character"),
        ):
            with self.subTest(text=text):
                self.source.write_bytes(text)
                self.assert_fails(self.draw("graph.svg"), 1, f"cannot read '{self.source}', {error}")

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
        picture = ("graph", self.source, "-o", self.out / "graph.svg")
        self.assert_fails(self.weir(*picture, "--direction", "left"), 2, "--direction")
        self.assert_fails(self.weir(*picture, "--fold-above", "-1"), 2, "--fold-above")
        self.assert_fails(self.weir("graph", "", "-o", self.out / "graph.svg"), 2)
        self.assert_fails(self.weir("graph", self.source), 2)
        self.assert_fails(self.weir("graph"), 2)


if __name__ == "__main__":
    tool.main()
