#!/usr/bin/env python3
"""quotes.py ROOT: checks that the code in README.md and docs/ equals the code of the examples and tests.

A block of code after the line

    <!-- quoted from examples/01-first.cpp: readme -->

must equal the lines between `// [readme]` and `// [/readme]` of that file, without their common indentation. The
tests build and run the file, so the code on the pages compiles and works.
"""
import pathlib
import re
import sys
import textwrap

QUOTE = re.compile(r"^<!-- quoted from (\S+): ([\w-]+) -->\n+```\w*\n(.*?)^```$", re.M | re.S)
MENTION = re.compile(r"^<!-- quoted from", re.M)


def region(path, name):
    """Returns the marked lines of a file, or None if it has no such marks."""
    found = re.search(rf"^ *// \[{name}\]\n(.*?)^ *// \[/{name}\]$", path.read_text(), re.M | re.S)
    return textwrap.dedent(found.group(1)) if found else None


def check(page, root):
    text = page.read_text()
    quotes = QUOTE.findall(text)
    if len(quotes) != len(MENTION.findall(text)):
        yield "a 'quoted from' line has another form, or no block of code after it"
    for source, name, shown in quotes:
        path = root / source
        if not path.is_file():
            yield f"{source} does not exist"
        elif (real := region(path, name)) is None:
            yield f"{source} has no region [{name}]"
        elif shown.strip("\n") != real.strip("\n"):
            yield f"differs from [{name}] of {source}, which is:\n{real}"


def main():
    root = pathlib.Path(sys.argv[1])
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    problems = [f"{page.relative_to(root)}: {problem}" for page in pages for problem in check(page, root)]
    if not QUOTE.search(pages[0].read_text()):
        problems.append("README.md: quotes no example")
    print("\n".join(problems) or "every quotation is exact")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
