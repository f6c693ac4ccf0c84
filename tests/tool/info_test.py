"""info_test.py WEIR: `weir info`, `weir --help` and `weir --version`."""
import json
import re

import tool


class Info(tool.ToolTest):
    def test_text(self):
        run = self.weir("info")
        self.assert_works(run)
        for word in ("driver", "embedded", "chosen because", "WEIR_DRIVER", "device 0", "memory", "priorities"):
            self.assertIn(word, run.stdout)

    def test_json(self):
        run = self.weir("info", "--json", WEIR_EMBEDDED_DEVICES="3")
        self.assert_works(run)
        info = json.loads(run.stdout)
        self.assertEqual(info["driver"], "embedded")
        self.assertRegex(info["version"], r"^\d+\.\d+$")
        self.assertEqual([d["ordinal"] for d in info["devices"]], [0, 1, 2])
        self.assertEqual(len({d["uuid"] for d in info["devices"]}), 3)
        for device in info["devices"]:
            self.assertTrue(device["embedded"])
            self.assertGreater(device["memory_bytes"], 0)
            self.assertLessEqual(device["greatest_priority"], device["least_priority"])

    def test_memory_is_what_the_environment_says(self):
        info = json.loads(self.weir("info", "--json", WEIR_EMBEDDED_MEMORY="64M").stdout)
        self.assertEqual(info["devices"][0]["memory_bytes"], 64 << 20)

    def test_vendor_driver_that_cannot_be_used_is_told(self):
        run = self.weir("info", "--json", WEIR_DRIVER="auto", WEIR_LIBCUDA="/none/libcuda.so.1")
        self.assert_works(run)
        info = json.loads(run.stdout)
        self.assertEqual(info["driver"], "embedded")
        self.assertIn("/none/libcuda.so.1", info["vendor_problem"])

    def test_wrong_driver(self):
        self.assert_fails(self.weir("info", WEIR_DRIVER="opengl"), 1, "WEIR_DRIVER", "opengl")


class Program(tool.ToolTest):
    def test_help(self):
        for arguments in (["--help"], ["stage", "--help"], ["info", "-h"]):
            run = self.weir(*arguments)
            self.assert_works(run)
            self.assertIn("Usage:", run.stdout)

    def test_version(self):
        run = self.weir("--version")
        self.assert_works(run)
        self.assertTrue(re.fullmatch(r"weir \d+\.\d+\.\d+\n", run.stdout), run.stdout)


if __name__ == "__main__":
    tool.main()
