"""run_test.py WEIR: `weir run` on the embedded driver: which runs there are, which of them fail, and how to repeat them."""
import os
import unittest

import tool


class RunTest(tool.ToolTest):
    def run_script(self, script, *options, **environment):
        return self.weir("run", *options, "--", "sh", "-c", script, **environment)

    def schedules_of(self, *options):
        """The schedules of the runs, in no order."""
        log = self.folder / "log"
        log.write_text("")
        self.assert_works(self.run_script(f'echo "$WEIR_EMBEDDED_SCHEDULE" >> {log}', *options))
        return sorted(log.read_text().split())


class Runs(RunTest):
    def test_one_run_for_each_seed(self):
        self.assertEqual(self.schedules_of("--seeds", "1..3,9"),
                         ["explore:1", "explore:2", "explore:3", "explore:9"])

    def test_default(self):
        self.assertEqual(self.schedules_of(), sorted(f"explore:{seed}" for seed in range(1, 33)))

    def test_schedules(self):
        self.assertEqual(self.schedules_of("--schedules", "late,serial", "--seeds", "5..6"),
                         ["late:5", "late:6", "serial"])
        self.assertEqual(self.schedules_of("--schedules", "all", "--seeds", 1),
                         ["early:1", "explore:1", "late:1", "parallel", "priority:1", "random:1", "serial"])

    def test_the_program_uses_the_embedded_driver(self):
        run = self.weir("run", "--seeds", 1, "--", tool.WEIR, "info")
        self.assert_works(run)
        failing = self.run_script(f"'{tool.WEIR}' info; exit 1", "--seeds", "1")
        self.assertIn("libcuda.so.1 is weir's drop-in", failing.stdout)

    def test_what_passed_is_told(self):
        run = self.run_script("true", "--seeds", "1..4")
        self.assert_works(run)
        self.assertEqual(run.stdout, "explore 1..4: all 4 passed\n")

    def test_names_with_spaces(self):
        program = self.folder / "a test; exit 1"
        program.write_text("#!/bin/sh\nexit 0\n")
        program.chmod(0o755)
        self.assert_works(self.weir("run", "--seeds", 1, "--", program, "an argument"))


class Failures(RunTest):
    def test_failing_seeds_are_named_with_a_line_to_repeat_one(self):
        script = 'case $WEIR_EMBEDDED_SCHEDULE in *:[367]) echo "wrong data"; exit 4;; esac'
        run = self.run_script(script, "--seeds", "1..8")
        self.assertEqual(run.returncode, 1)
        self.assertIn("explore 1..8: 3 of 8 failed: 3,6,7\n", run.stdout)
        self.assertIn("output with WEIR_EMBEDDED_SCHEDULE=explore:3:\nwrong data\n", run.stdout)
        self.assertIn("ended with status 4 with WEIR_EMBEDDED_SCHEDULE=explore:3, twice; to repeat it:", run.stdout)
        line = run.stdout.splitlines()[-1]
        self.assertEqual(os.waitstatus_to_exitcode(os.system(line + " > /dev/null")), 4)

    def test_a_failure_that_does_not_repeat_is_told_as_such(self):
        once = self.folder / "once"
        run = self.run_script(f"[ -e {once} ] || {{ touch {once}; exit 1; }}", "--seeds", "1..2", "--jobs", 1)
        self.assertEqual(run.returncode, 1)
        self.assertIn("but not again", run.stdout)

    def test_signals_and_hangs(self):
        run = self.run_script("kill -SEGV $$", "--seeds", "1")
        self.assertIn("was ended by signal 11", run.stdout)
        run = self.run_script("while :; do :; done", "--seeds", "1", "--limit", 1)
        self.assertIn("did not end within 1 s", run.stdout)

    def test_bad_options(self):
        for options in (["--seeds", "x"], ["--seeds", "5..1"], ["--seeds", "1..99999999"]):
            with self.subTest(options=options):
                self.assert_fails(self.run_script("true", *options), 1, options[1])
        self.assert_fails(self.run_script("true", "--schedules", "fast"), 2, "fast")
        self.assert_fails(self.weir("run"), 2, "COMMAND")
        self.assert_fails(self.weir("run", "--", self.folder / "none"), 1, "cannot run", "No such file")


class FailingCalls(RunTest):
    def test_each_call_of_a_program_fails(self):
        run = self.weir("run", "--fail-calls", "1..12", "--", tool.WEIR, "info")
        self.assert_works(run)
        self.assertEqual(run.stdout, "failing call 1..12: all 12 passed\n")

    def test_a_crash_after_a_failing_call_is_found(self):
        run = self.run_script(f"'{tool.WEIR}' info || kill -ABRT $$", "--fail-calls", "5..24")
        self.assertEqual(run.returncode, 1)
        self.assertRegex(run.stdout, r"failing call 5..24: \d+ of 20 failed")
        self.assertRegex(run.stdout, r"weir: driver call \d+, cu\w+, fails as WEIR_FAIL_CALL says")

    def test_a_wrong_number(self):
        self.assert_fails(self.weir("info", WEIR_FAIL_CALL="0", WEIR_DRIVER="embedded"), 1, "WEIR_FAIL_CALL")


if __name__ == "__main__":
    tool.main()
