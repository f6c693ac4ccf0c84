#!/usr/bin/env python3
"""Holds what a driver answered against what an H200 answered.

    compare.py EXPECTED ACTUAL [--later=FILE] [--groups] [--skip=kernel.,ub.] [--only=two.] [--slow]

A line of either file is `case<TAB>key=value key=value ...`. Two things are not compared: keys that begin with `~` (they may
vary on the H200 itself), and, where the H200 crashed, everything from the crash on: there any answer is right except a crash.
--slow also forgives the words `watchdog=fired` and `timeout`, for a machine too slow to keep a case's time.

--later=FILE names the cases that are known to differ, one a line; `#` begins a comment. The list is exact: a case in it that
answers as the H200 must be taken out, and so must a name that is no case. It never excuses a crash or a case that hangs.
--groups prints how many cases of each group agree instead of the differences. --skip leaves out the cases whose name begins so;
--only leaves out all others. Without --only, cases that answered `skipped=one_device` are left out too: they need a second device.
Exit status 0 if nothing is wrong, 1 if something is, 2 if the files cannot be compared.
"""
import argparse
import sys


def read(path):
    with open(path) as lines:
        return dict(line.rstrip("\n").split("\t", 1) for line in lines if "\t" in line and not line.startswith("#"))


def read_names(path):
    with open(path) as lines:
        return [name for line in lines if (name := line.split("#")[0].strip())]


LATE = ("watchdog=fired", "timeout")


def words(text):
    return [w for w in text.split(" ") if w and not w.startswith("~")]


def crashed(answer):
    return any(w.startswith("crash=") for w in words(answer))


def hung(answer):
    return any(w in LATE for w in words(answer))


def forgive(answers):
    return {case: " ".join(w for w in have.split(" ") if w not in LATE) for case, have in answers.items()}


def same(expected, actual):
    want, got = words(expected), words(actual)
    crash = next((i for i, w in enumerate(want) if w.startswith("crash=")), None)
    if crash is None:
        return want == got
    return want[:crash] == got[:crash] and not crashed(actual)


ONE_DEVICE = "skipped=one_device"


def considered(expected, actual, skip=(), only=()):
    """Is the case judged? By its name and, unless the name is asked for, by whether there was a device for it."""
    without_device = {case for case in expected if not only and actual.get(case, "").strip() == ONE_DEVICE}
    return lambda case: not case.startswith(skip) and (not only or case.startswith(only)) and case not in without_device


def prefixes(text):
    return tuple(p for p in text.split(",") if p)


def judge(expected, actual, later):
    """What is wrong: a list of (case, what)."""
    wrong = [(case, "is no case: take it out of the list") for case in sorted(later - expected.keys())]
    for case, want in expected.items():
        have = actual.get(case)
        if have is None:
            wrong.append((case, "was not run"))
        elif crashed(have) or hung(have):
            wrong.append((case, f"{'crashed' if crashed(have) else 'hung'}\n  H200   {want}\n  here   {have}"))
        elif same(want, have) and case in later:
            wrong.append((case, "answers as the H200: take it out of the list"))
        elif not same(want, have) and case not in later:
            wrong.append((case, f"differs\n  H200   {want}\n  here   {have}"))
    return wrong


def print_groups(expected, actual):
    groups = {}
    for case, want in expected.items():
        group = groups.setdefault(case.split(".")[0], [0, 0])
        group[0] += same(want, actual.get(case, "missing"))
        group[1] += 1
    for name, (good, total) in groups.items():
        print(f"{name:12} {good:4} of {total:4}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("expected")
    parser.add_argument("actual")
    parser.add_argument("--later")
    parser.add_argument("--groups", action="store_true")
    parser.add_argument("--skip", default="")
    parser.add_argument("--only", default="")
    parser.add_argument("--slow", action="store_true")
    options = parser.parse_args()
    try:
        expected, actual = read(options.expected), read(options.actual)
        names = read_names(options.later) if options.later else []
    except (OSError, ValueError) as error:
        print(f"compare.py: {error}", file=sys.stderr)
        return 2
    if options.slow:
        actual = forgive(actual)
    is_judged = considered(expected, actual, prefixes(options.skip), prefixes(options.only))
    expected = {case: want for case, want in expected.items() if is_judged(case)}
    names = [n for n in names if is_judged(n)]
    wrong = judge(expected, actual, set(names))
    if options.groups:
        print_groups(expected, actual)
    else:
        for case, what in wrong:
            if what != "was not run":
                print(f"{case} {what}")
        missing = [case for case, what in wrong if what == "was not run"]
        if missing:
            print(f"not run: {len(missing)}, the first of them {missing[0]}")
    good = sum(same(want, actual.get(case, "missing")) for case, want in expected.items())
    print(f"{good} of {len(expected)} cases answer as the H200, {len(set(names))} are for later, {len(wrong)} are wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
