"""compile_test.py WEIR: `weir compile` on the embedded driver: images that load, the compiler's words, and bad input."""
import ctypes
import unittest

import tool

SOURCE = """extern "C" __global__ void scale(float* x, float by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
"""


class CompileTest(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"
        self.image = self.folder / "scale.image"

    def source(self, text, name="scale.cu"):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def compile(self, *arguments, **environment):
        return self.weir("compile", *arguments, "-o", self.image, **{"WEIR_CACHE": str(self.cache), **environment})

    def kernels(self):
        """What the image has, as its table tells."""
        class Table(ctypes.Structure):
            _fields_ = [(n, ctypes.c_uint) for n in ("version", "kernels", "variables", "flags")] + [
                ("kernel", ctypes.POINTER(ctypes.c_char_p))]

        loaded = ctypes.CDLL(str(self.image))
        table = Table.in_dll(loaded, "weir_module")
        self.assertEqual(table.kernels, 1)
        return table.kernel[0].decode()


class Works(CompileTest):
    def test_an_image(self):
        self.assert_works(self.compile(self.source(SOURCE)))
        self.assertEqual(self.kernels(), "scale")

    def test_options_reach_the_compiler(self):
        headers = self.folder / "headers"
        headers.mkdir()
        (headers / "type.h").write_text("using type = float;\n")
        source = self.source("""#include "type.h"
            #include "beside.h"
            static_assert(A == 1 && B == 2 && BESIDE, "");
            static_assert(__cplusplus > 201703L, "");
            #if !defined(__USE_FAST_MATH__) || !defined(GIVEN)
            #error not told
            #endif
            template <class T> __global__ void scale(T* x, type by) { x[threadIdx.x] *= by; }
        """)
        self.source("#define BESIDE 1\n", "beside.h")
        run = self.compile("-DA", "-D", "B=2", "-I", headers, "--standard", "c++20", "--fast-math", "-X",
                           "-DGIVEN", "-n", "scale<double>", source)
        self.assert_works(run)
        self.assertEqual(run.stdout, "_Z5scaleIdEvPT_f scale<double>\n")
        self.assertEqual(self.kernels(), "_Z5scaleIdEvPT_f")

    def test_warnings_are_told_and_are_no_failure(self):
        run = self.compile(self.source("#warning it is old\n" + SOURCE))
        self.assertEqual((run.returncode, run.stdout), (0, ""))
        self.assertIn("scale.cu:1:2: warning: ", run.stderr)
        self.assertTrue(self.image.exists())

    def test_what_was_compiled_before_is_not_compiled_again(self):
        self.assert_works(self.compile(self.source(SOURCE)))
        first = self.image.read_bytes()
        self.assertEqual(len(list(self.cache.iterdir())), 1)
        self.image.unlink()
        self.assert_works(self.compile(self.folder / "scale.cu"))
        self.assertEqual(self.image.read_bytes(), first)
        self.assertEqual(len(list(self.cache.iterdir())), 1)


    def test_a_source_in_another_folder_is_not_compiled_again(self):
        self.assert_works(self.compile_in("one"))
        self.assert_works(self.compile_in("two"))
        self.assertEqual(len(list(self.cache.iterdir())), 1)

    def compile_in(self, folder):
        self.source("#define BY by\n", f"{folder}/h.h")
        return self.compile(self.source('#include "h.h"\n' + SOURCE.replace("by;", "BY;"), f"{folder}/scale.cu"))

    def test_nothing_is_compiled_twice(self):
        compiler = self.folder / "cxx"
        calls = self.folder / "calls"
        compiler.write_text(f'#!/bin/sh\necho call >> {calls}\nexec g++ "$@"\n')
        compiler.chmod(0o755)
        for cache in (self.cache, "off"):
            calls.write_text("")
            self.assert_works(self.compile(self.source(SOURCE), WEIR_CXX=str(compiler), WEIR_CACHE=str(cache)))
            compiles = [line for line in calls.read_text().splitlines() if line]
            self.assertLessEqual(len(compiles), 2 + self.identity_calls, "one to preprocess, one to compile")

    identity_calls = 1  # the compiler's version, for the key of the cache

    def test_pipes(self):
        run = self.weir("compile", "-", "-o", "-", stdin=SOURCE.encode(), text=False, WEIR_CACHE=str(self.cache))
        self.assertEqual((run.returncode, run.stderr), (0, b""))
        self.image.write_bytes(run.stdout)
        self.assertEqual(self.kernels(), "scale")


class Refused(CompileTest):
    """Nothing is left behind, and what was there stays."""

    def setUp(self):
        super().setUp()
        self.image.write_text("before")

    def tearDown(self):
        self.assertEqual(self.image.read_text(), "before")

    def test_mistakes_are_told_with_the_users_lines(self):
        source = self.source(SOURCE.replace("by;", "bye;"))
        run = self.compile(source)
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn(f"{source}:3:", run.stderr)
        self.assertIn("bye", run.stderr)
        self.assertRegex(run.stderr, rf"\nweir: '{source}' does not compile \(.+\)\n\Z")

    def test_no_compiler(self):
        self.assert_fails(self.compile(self.source(SOURCE), WEIR_CXX=str(self.folder / "none")), 1, "none")

    def test_no_source(self):
        self.assert_fails(self.compile(self.folder / "none.cu"), 1, "cannot open", "none.cu", "No such file")
        self.assert_fails(self.compile(self.folder), 1, "irectory")

    def test_the_source_itself(self):
        source = self.source(SOURCE)
        link = self.folder / "link"
        link.symlink_to(source)
        self.assert_fails(self.weir("compile", source, "-o", link, WEIR_CACHE=str(self.cache)), 1, "is the source")
        self.assertEqual(source.read_text(), SOURCE)

    def test_a_standard_without_kernels(self):
        self.assert_fails(self.compile(self.source(SOURCE), "--standard", "c++98"), 1, "c++14 or later")

    def test_no_device(self):
        self.assert_fails(self.compile(self.source(SOURCE), "--device", 7), 1, "no device 7")
        self.assert_fails(self.compile(self.source(SOURCE), "--device", -1), 2, "--device")

    def test_no_folder(self):
        run = self.weir("compile", self.source(SOURCE), "-o", self.folder / "none" / "image", WEIR_CACHE=str(self.cache))
        self.assert_fails(run, 1, "none/image", "No such file")

    def test_bad_options(self):
        self.assert_fails(self.weir("compile", self.source(SOURCE)), 2, "--output")
        self.assert_fails(self.compile(), 2, "FILE")
        self.assert_fails(self.compile(""), 2)
        self.assert_fails(self.weir("compile", self.source(SOURCE), "-o", ""), 2)


if __name__ == "__main__":
    tool.main()
