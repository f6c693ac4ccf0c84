#!/usr/bin/env python3
"""Runs each test of a program twice under a deterministic schedule, and compares the order of all operations.

usage: same_order.py PROGRAM SCHEDULE [FILTER]

Tests with several threads are not compared. EXCEPTIONS lists the other tests whose order depends on time.
"""
import collections
import concurrent.futures
import os
import subprocess
import sys

# The parts of names, and why the order of these tests depends on time.
EXCEPTIONS = {
    "Ipc": "another process takes part",
    "Deadline": "a time limit decides how long the test waits",
}


def tests_of(program, pattern):
    listed = subprocess.run([program, "--gtest_list_tests", "--gtest_filter=" + pattern], capture_output=True, text=True,
                            check=True).stdout
    suite = ""
    for line in listed.splitlines():
        name = line.split("#")[0].strip()
        if line.startswith(" "):
            yield suite + name
        elif name.endswith("."):
            suite = name


def order_of(program, schedule, test):
    """Returns the order as a text; an empty one if several threads took part."""
    environment = dict(os.environ, WEIR_DRIVER="embedded", WEIR_EMBEDDED_SCHEDULE=schedule, WEIR_TEST_ORDER="1",
                       RC_PARAMS="seed=1")  # of the tests that draw their programs
    run = subprocess.run([program, "--gtest_filter=" + test], capture_output=True, text=True, env=environment)
    if run.returncode != 0:
        return "failed:\n" + run.stdout
    lines = [line for line in run.stdout.splitlines() if line.startswith("order: ")]
    return "" if not lines or lines[-1].endswith(" threads") else lines[-1]


def compare(program, schedule, test):
    """Compares a second time if the orders differ: on a busy machine a host function may take too long."""
    result = compare_once(program, schedule, test)
    return compare_once(program, schedule, test) if result[0] == "different" else result


def compare_once(program, schedule, test):
    first, second = order_of(program, schedule, test), order_of(program, schedule, test)
    if "" in (first, second):
        return "threads", test
    return ("equal" if first == second else "different"), test


def main():
    program, schedule = sys.argv[1:3]
    pattern = sys.argv[3] if len(sys.argv) > 3 else "*"
    tests = [t for t in tests_of(program, pattern) if "DeathTest" not in t and not any(e in t for e in EXCEPTIONS)]
    counts = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for result, test in pool.map(lambda test: compare(program, schedule, test), tests):
            counts[result] += 1
            if result == "different":
                print("two runs had different orders:", test, flush=True)
    print(f"{counts['equal']} of {len(tests)} tests had one order in two runs; {counts['different']} had two")
    return 1 if counts["different"] or not counts["equal"] else 0


if __name__ == "__main__":
    sys.exit(main())
