#!/usr/bin/env python3
"""The judge judges rightly, and the recording, the rules and the probe speak of the same cases. selftest.py PROBE"""
import fnmatch
import os
import re
import subprocess
import sys
import unittest

import compare

HERE = os.path.dirname(os.path.abspath(__file__))
PROBE = sys.argv.pop() if len(sys.argv) > 1 else None


def judged(want, have, later=()):
    """The complaints about one case."""
    return [what.split("\n")[0] for _, what in compare.judge({"a.b": want}, {"a.b": have}, set(later))]


class Judge(unittest.TestCase):
    def test_equal_answers_are_right(self):
        self.assertEqual(judged("x=1 y=2", "x=1 y=2"), [])

    def test_a_value_a_missing_value_and_one_too_many_are_wrong(self):
        for have in ("x=1 y=3", "x=1", "x=1 y=2 z=3", ""):
            self.assertEqual(judged("x=1 y=2", have), ["differs"])

    def test_free_values_are_not_compared(self):
        self.assertEqual(judged("x=1 ~y=2", "x=1 ~y=3"), [])

    def test_where_the_H200_crashed_anything_is_right_but_a_crash(self):
        self.assertEqual(judged("x=1 crash=SIGSEGV", "x=1 y=2"), [])
        self.assertEqual(judged("x=1 crash=SIGSEGV", "x=2"), ["differs"])
        self.assertEqual(judged("x=1 crash=SIGSEGV", "x=1 crash=SIGSEGV"), ["crashed"])

    def test_the_list_of_later_cases_is_exact(self):
        self.assertEqual(judged("x=1", "x=2", later=["a.b"]), [])
        self.assertEqual(judged("x=1", "x=1", later=["a.b"]), ["answers as the H200: take it out of the list"])
        self.assertEqual(judged("x=1", "x=1", later=["a.c"]), ["is no case: take it out of the list"])

    def test_the_list_excuses_neither_a_crash_nor_a_hang_nor_silence(self):
        self.assertEqual(judged("x=1", "crash=SIGABRT", later=["a.b"]), ["crashed"])
        self.assertEqual(judged("x=1", "x=2 timeout", later=["a.b"]), ["hung"])
        self.assertEqual(judged("x=1", "watchdog=fired x=1"), ["hung"])
        self.assertEqual([what for _, what in compare.judge({"a.b": "x=1"}, {}, {"a.b"})], ["was not run"])

    def test_a_case_that_lacks_a_device_is_left_out_unless_asked_for(self):
        expected, actual = {"a.b": "x=1", "two.c": "x=1"}, {"a.b": "x=1", "two.c": "skipped=one_device"}

        def judged_cases(answers, **names):
            return [case for case in expected if compare.considered(expected, answers, **names)(case)]

        self.assertEqual(judged_cases(actual), ["a.b"])
        self.assertEqual(judged_cases(actual, only=("two.",)), ["two.c"])
        self.assertEqual(judged_cases({"a.b": "x=1", "two.c": "x=1"}), ["a.b", "two.c"])
        self.assertEqual(judged_cases({"a.b": "x=1", "two.c": "x=1 skipped=one_device"}), ["a.b", "two.c"])
        self.assertEqual(judged_cases({"a.b": "x=1"}), ["a.b", "two.c"])
        self.assertEqual(judged_cases(actual, skip=("a.",)), [])
        self.assertEqual(judged("x=1", "skipped=one_device"), ["differs"])

    def test_a_name_for_later_is_left_out_with_its_case(self):
        is_judged = compare.considered({"two.c": "x=1"}, {"two.c": "skipped=one_device"})
        self.assertEqual([n for n in ("two.c", "no.case") if is_judged(n)], ["no.case"])

    def test_a_slow_machine_can_be_forgiven(self):
        self.assertEqual(compare.forgive({"a.b": "x=1 watchdog=fired y=2"}), {"a.b": "x=1 y=2"})


class Texts(unittest.TestCase):
    def setUp(self):
        self.recorded = list(compare.read(os.path.join(HERE, "h200.txt")))

    def test_the_probe_has_the_recorded_cases_in_their_order(self):
        listed = subprocess.run([PROBE, "--list"], check=True, capture_output=True, text=True).stdout.split()
        self.assertEqual(listed, self.recorded)

    def test_every_case_has_a_rule_and_every_rule_its_cases(self):
        groups = {case.split(".")[0] for case in self.recorded}
        with open(os.path.join(HERE, "rules.md")) as rules:
            named = [n for n in re.findall(r"`([a-z0-9_]+\.[a-z0-9_.*]+)`", rules.read()) if n.split(".")[0] in groups]
        self.assertEqual([n for n in named if not fnmatch.filter(self.recorded, n)], [])
        ruled = {case for n in named for case in fnmatch.filter(self.recorded, n)}
        self.assertEqual([case for case in self.recorded if case not in ruled], [])


if __name__ == "__main__":
    unittest.main()
