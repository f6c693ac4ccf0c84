#!/usr/bin/env python3
"""rules.py ROOT: checks that every rule that a comment cites exists, and that the rules are numbered without gaps.

Comments cite docs/internals/rules.md by number: "Rule N", "Rules N, M and K", "Rules N to M". They cite tests/conformance/rules.md by part and
rule, "rule N.M", if every number of the citation is in that list. In the folders of PARTS, "rules N to M" cites parts of that list.
"""
import pathlib
import re
import sys

PAGE = "docs/internals/rules.md"
CONFORMANCE = "tests/conformance/rules.md"
PARTS = ("tests/conformance/", "tests/graphs/")
FOLDERS = ("src", "include", "tests", "bench", "examples")
COMMENTS = {".cpp": "//", ".hpp": "//", ".h": "//", ".cuh": "//", ".cu": "//", ".def": "//", ".py": "#"}
NUMBER = r"\d+(?:\.\d+)?"
CITATION = re.compile(rf"\brules?\s({NUMBER}(?:(?:,?\s(?:and|or|to)\s|,\s|\s?[-–]\s?){NUMBER})*)(?![\d.]*\d)", re.I)
RANGE = re.compile(r"(\d+)(?:\sto\s|\s?[-–]\s?)(\d+)")


def listed(text):
    """Returns the numbers of the rules on the page, in order."""
    return [int(number) for number in re.findall(r"^(\d+)\. \S", text, re.M)]


def listed_by_part(text):
    """Returns "N" for each part of the conformance list, and "N.M" for each of its rules."""
    found, part = set(), None
    for line in text.splitlines():
        if heading := re.match(r"## (\d+)\. ", line):
            part = heading[1]
            found.add(part)
        elif part and (rule := re.match(r"(\d+)\. ", line)):
            found.add(f"{part}.{rule[1]}")
    return found


def comments(path):
    """Yields the comments of a file, each as the number of its first line and its lines; adjacent lines are one comment."""
    mark = COMMENTS[path.suffix]
    pattern = re.compile(rf"^(.*?){mark}+ ?(.*)$")
    at, lines = 0, []
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        found = pattern.match(line)
        goes_on = found and lines and not found[1].strip()
        if lines and not goes_on:
            yield at, lines
            lines = []
        if found:
            at = at if goes_on else number
            lines.append(found[2])
    if lines:
        yield at, lines


def cited(path):
    """Yields the citations of a file: the line's number, the words, and the numbers, with expanded ranges."""
    for first, lines in comments(path):
        text = "\n".join(lines)
        for found in CITATION.finditer(text):
            numbers = re.findall(NUMBER, found[1])
            for low, high in RANGE.findall(found[1]):
                numbers += [str(n) for n in range(int(low) + 1, int(high))]
            yield first + text.count("\n", 0, found.start()), " ".join(found[0].split()), numbers


def wrong_numbers(numbers):
    """Returns the first error in the numbering 1 to N."""
    return [
        f"{PAGE}: rule {number} stands where rule {expected} is expected"
        for expected, number in enumerate(numbers, 1)
        if number != expected
    ][:1]


def main():
    root = pathlib.Path(sys.argv[1])
    numbers = listed((root / PAGE).read_text())
    own = {str(number) for number in numbers}
    by_part = listed_by_part((root / CONFORMANCE).read_text())
    wrong = wrong_numbers(numbers) or ([] if numbers else [f"{PAGE} lists no rules"])
    met, count = set(), 0
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in COMMENTS or not path.is_file():
                continue
            name = path.relative_to(root).as_posix()
            for line, words, asked in cited(path):
                count += 1
                of_parts = name.startswith(PARTS) or any("." in number for number in asked)
                known, page = (by_part, CONFORMANCE) if of_parts else (own, PAGE)
                wrong += [f"{name}:{line}: '{words}': {page} has no {number}" for number in asked if number not in known]
                met |= set() if of_parts else own & set(asked)
    print("\n".join(wrong) or f"{count} citations name rules that exist; {len(met)} of {len(numbers)} rules are cited")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
