"""What the tests of the tool share: running it, a folder of its own for each test, and files to stage."""
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

WEIR = None  # the program under test, the first argument of every test script


class ToolTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weir-tool-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def weir(self, *arguments, stdin=None, text=True, **environment):
        """Runs the tool; returns its status, output and errors. Without `text`, the output is bytes."""
        command = [WEIR, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=text, input=stdin, timeout=120,
                              env={**os.environ, **environment})

    def file(self, size, name="input"):
        path = self.folder / name
        path.write_bytes(random.Random(size).randbytes(size))
        return path

    def assert_works(self, run):
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stderr, "")

    def assert_fails(self, run, status, *words):
        """One line on standard error with these words in it, nothing on standard output."""
        self.assertEqual(run.returncode, status, run.stderr)
        self.assertEqual(run.stdout, "")
        self.assertRegex(run.stderr, r"\Aweir: [^\n]+\n\Z")
        self.assertNotRegex(run.stderr, r"\.[ch]pp:\d", "a place in the tool's own source")
        for word in words:
            self.assertIn(str(word), run.stderr)


def main():
    global WEIR
    WEIR = sys.argv.pop(1)
    # A test module imports this file under its own name and must see the state of the main module.
    sys.modules["tool"].WEIR = WEIR
    unittest.main(module="__main__")
