#!/usr/bin/env python3
"""captures.py ROOT [--write]: checks that the pages on capture agree with the recording of an H200.

tests/conformance/h200.txt is the recording. docs/driver/capture-calls.md lists the calls of its groups capmode. and capimpl.; this script makes
the lists, and --write updates them. In docs/guide/capture.md, a comment in each row of the table names the cases that the row is based on:

    <!-- h200: capmode stream_query_other stream_sync_other -->   the row's three modes agree with these cases
    <!-- h200: capture.merge wait=CUDA_ERROR_STREAM_CAPTURE_MERGE -->   the case has these answers
"""
import pathlib
import re
import sys

RECORDING = "tests/conformance/h200.txt"
CASES = "tests/conformance/cases/capture/matrix_*.cpp"
PAGE = "docs/driver/capture-calls.md"
RULES = "docs/guide/capture.md"
MODES = ("global", "thread_local", "relaxed")
WHO = ("same", "other", "other_local", "other_relaxed")  # which thread made the call, and in which mode of its own
REST = re.compile(r"<!-- h200: (\S+) (.*?) -->")

# The result of a call by mode and thread, and the words for it in each mode.
ANYWHERE = ("breaks it", "breaks it", "breaks it")
UNSAFE = ("breaks it, from any thread", "breaks it, from its thread", "allowed")
WORDS = {
    "aaaa aaaa aaaa": ("allowed",) * 3,
    "rrrr rrrr rrrr": ("refused",) * 3,
    "bbbb bbbb bbbb": ANYWHERE,
    "bbaa baaa aaaa": UNSAFE,
    "aa-a aa-a aa-a": ("allowed",) * 3,
    "rr-r rr-r rr-r": ("refused",) * 3,
    "bb-b bb-b bb-b": ANYWHERE,
    "bb-a ba-a aa-a": UNSAFE,
}
HEADINGS = {
    UNSAFE: "Unsafe: breaks a `global` capture from every thread that is not relaxed itself, an `own_thread` capture from its own "
    "thread, and no `relaxed` capture",
    ANYWHERE: "Breaks the capture in every mode, from every thread",
    ("refused",) * 3: "Refused; the capture stays valid",
    ("allowed",) * 3: "Allowed",
}
SUBJECTS = {
    "null": "legacy stream",
    "other": "another stream",
    "capturing": "the stream that captures",
    "per_thread": "per-thread stream",
    "blocking": "another, blocking stream",
    "nonblocking": "a non-blocking stream",
}
# Cases whose names do not say everything.
NOTES = {
    "stream_get_flags": "the stream that captures",
    "event_query_unrecorded": "an event that was never recorded",
    "event_sync_unrecorded": "an event that was never recorded",
    "event_query_done": "an event recorded outside",
    "event_sync_done": "an event recorded outside",
    "event_elapsed_done": "events recorded outside",
    "event_record_external_other": "another stream, as a node of a graph",
    "wait_captured_event_null": "legacy stream, for an event of the capture",
    "begin_end_other": "another stream",
    "mem_free_of_async": "memory of cuMemAllocAsync",
    "mem_free_null": "null",
    "free_host_null": "null",
    "memcpy_async_pageable_other": "another stream",
}


def recorded(path):
    """Returns the cases, each as a dictionary of its answers."""
    cases = {}
    for line in path.read_text().splitlines():
        name, tab, answers = line.partition("\t")
        if tab:
            cases[name] = answers.split(" ")
    return cases


def did(answers, who):
    """Returns a: allowed; b: broke the capture; r: refused, and the capture stayed valid; -: not recorded."""
    of = dict(answer.split("=", 1) for answer in answers if "=" in answer)
    if who + ".call" not in of:
        return "-"
    if of[who + ".status"] == "INVALIDATED":
        return "b"
    return "a" if of[who + ".call"] == "CUDA_SUCCESS" else "r"


def words(cases, group, name):
    """Returns the recorded result of a call in each mode; None if there is no such case."""
    try:
        done = [[did(cases[f"{group}.{mode}.{name}"], who) for who in WHO] for mode in MODES]
    except KeyError:
        return None
    key = " ".join("".join(each) for each in done)
    return WORDS.get(key, (f"{key}, which no page has words for",) * 3)


def functions(root):
    """Returns the driver functions that the cases call, by the cases' names."""
    found = {}
    for path in sorted(root.glob(CASES)):
        parts = re.split(r'\{"(\w+)",', path.read_text())
        for name, body in zip(parts[1::2], parts[2::2]):
            calls = re.findall(r"\b(cu[A-Z]\w+)\(", re.sub(r"undo\.push_back\(.*?\}\);", "", body, flags=re.S))
            found[name] = list(dict.fromkeys(calls))
    return found


def subject(name):
    """Returns the stream or other object of a case; empty if the function name says it."""
    if name in NOTES:
        return NOTES[name]
    last = next((each for each in SUBJECTS if name.endswith("_" + each)), None)
    return SUBJECTS.get(last, "")


def lists(cases, group, calls):
    """Returns the calls of a group by their results: a heading and a table each."""
    names = [name.split(".")[2] for name in cases if name.startswith(f"{group}.{MODES[0]}.")]
    text = ""
    for what, heading in HEADINGS.items():
        rows = {}
        for name in names:
            if words(cases, group, name) == what:
                rows.setdefault(", ".join(f"`{call}`" for call in calls[name]), []).append(name)
        if not rows:
            continue
        text += f"{heading}:\n\n| Call | Of | Recorded as |\n|---|---|---|\n"
        for call, each in sorted(rows.items()):
            about = "; ".join(dict.fromkeys(filter(None, map(subject, each))))
            text += f"| {call} | {about} | {', '.join(f'`{name}`' for name in each)} |\n"
        text += "\n"
    return text


def rest_of(row, cases):
    """Yields the errors in the cases that a row of the table names."""
    cells = [cell.strip() for cell in REST.sub("", row).strip().strip("|").split("|")]
    said = []
    for cell in cells[1:4]:
        said.append(said[-1] if cell == "the same" else cell)
    for case, answers in REST.findall(row):
        if case in ("capmode", "capimpl"):
            for name in answers.split(" "):
                what = words(cases, case, name)
                if what is None:
                    yield f"the recording has no {case}.*.{name}"
                elif what == ANYWHERE and said == ["breaks it, from any thread"] * 3:
                    continue
                elif list(what) != said:
                    yield f"{case}.*.{name} is {what}, the row says {said}"
        elif case not in cases:
            yield f"the recording has no {case}"
        else:
            yield from (f"{case} does not say {each}" for each in answers.split(" ") if each not in cases[case])


def main():
    root = pathlib.Path(sys.argv[1])
    cases = recorded(root / RECORDING)
    calls = functions(root)
    problems = []

    rules = (root / RULES).read_text()
    for row in rules.splitlines():
        if REST.search(row):
            problems += [f"{RULES}: {problem}" for problem in rest_of(row, cases)]
    problems += [] if REST.search(rules) else [f"{RULES}: rests on nothing"]

    page = root / PAGE
    text = updated = page.read_text()
    for group in ("capmode", "capimpl"):
        names = {name.split(".")[2] for name in cases if name.startswith(group + ".")}
        strange = [name for name in sorted(names) if words(cases, group, name) not in HEADINGS]
        problems += [f"{group}.*.{name} is {words(cases, group, name)}" for name in strange]
        marks = re.compile(rf"(<!-- list of {group} -->\n).*?(<!-- end of the list -->)", re.S)
        body = "\n" + lists(cases, group, calls)
        updated, replaced = marks.subn(lambda m: m[1] + body + m[2], updated)
        problems += [] if replaced == 1 else [f"{PAGE}: has {replaced} places for the list of {group}"]
    if updated != text and "--write" in sys.argv[2:]:
        page.write_text(updated)
    elif updated != text:
        problems.append(f"{PAGE} is out of date; run: tests/docs/captures.py . --write")

    print("\n".join(problems) or "the pages on capture say what the recording says")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
