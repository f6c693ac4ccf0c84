#!/usr/bin/env python3
"""measure.py COMPILER INCLUDE_DIR: what the compiler takes for weir's headers over an empty file, against a budget.

The best of several runs counts: other processes can only make a run longer.
"""
import subprocess
import sys
import time

BUDGETS_MS = {"weir/stream/stream.hpp": 120, "weir/event/event.hpp": None, "weir/weir.hpp": None}
RUNS = 15


def seconds(compiler, include_dir, source):
    command = [compiler, "-std=c++20", "-fsyntax-only", "-I", include_dir, "-x", "c++", "-"]
    start = time.monotonic()
    subprocess.run(command, input=source, text=True, check=True)
    return time.monotonic() - start


def main():
    compiler, include_dir = sys.argv[1:]
    sources = {header: f"#include <{header}>\n" for header in BUDGETS_MS}
    best = dict.fromkeys(["", *sources], float("inf"))
    for _ in range(RUNS):
        # In turns, so that a busy moment does not fall on one header alone.
        for header in best:
            best[header] = min(best[header], seconds(compiler, include_dir, sources.get(header, "")))

    failed = False
    for header, budget in BUDGETS_MS.items():
        cost = 1000 * (best[header] - best[""])
        over = budget is not None and cost > budget
        failed |= over
        verdict = "" if budget is None else f"  budget {budget} ms  {'OVER' if over else 'met'}"
        print(f"{header:18} {cost:6.1f} ms over an empty file{verdict}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
