#!/usr/bin/env python3
"""glossary.py ROOT: checks that weir has at most ten coined words, and that no name in the code contains an avoided word.

docs/internals/glossary.md contains both lists. A name is split at underscores and capitals, so `completion_queue_pool` and `LanePool` both
contain `lane`.
"""
import pathlib
import re
import sys

PAGE = "docs/internals/glossary.md"
FOLDERS = ["include", "src", "tests", "tools", "bench", "examples"]
SUFFIXES = {".hpp", ".cpp", ".h"}
# In the kernel machine and its device headers "lane" is a standard term: a warp has lanes.
OWN_MEANING = {"lane": ["src/embedded/kernel/", "src/compile/", "tests/kernels/", "tests/compile/", "tests/embedded/kernel/"]}
MOST_WORDS = 10
STRINGS_AND_COMMENTS = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)


def rows(text, heading):
    """Returns the first cells of the table below a heading."""
    section = text.split(heading, 1)[1].split("\n## ", 1)[0]
    cells = re.findall(r"^\| ([^|]+?) \|", section, re.M)
    return [cell.strip("`") for cell in cells[1:]]


def parts(name):
    return {part.lower() for part in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)}


def uses(path, shown, avoided):
    code = STRINGS_AND_COMMENTS.sub(lambda found: "\n" * found[0].count("\n"), path.read_text())
    for number, line in enumerate(code.split("\n"), 1):
        for name in re.findall(r"[A-Za-z_]\w*", line):
            for word in parts(name) & avoided:
                if not any(shown.startswith(folder) for folder in OWN_MEANING.get(word, [])):
                    yield f"{shown}:{number}: {name} contains '{word}', which {PAGE} replaces"


def main():
    root = pathlib.Path(sys.argv[1])
    text = (root / PAGE).read_text()
    own = rows(text, "# Glossary")
    avoided = set(rows(text, "## Words that weir avoids"))
    problems = [f"{PAGE}: {len(own)} words of weir's own; {MOST_WORDS} are allowed"] if len(own) > MOST_WORDS else []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES:
                shown = path.relative_to(root).as_posix()
                problems += [f"{shown}: the file's name contains '{word}'" for word in parts(path.stem) & avoided
                             if not any(shown.startswith(temporary_folder) for temporary_folder in OWN_MEANING.get(word, []))]
                problems += uses(path, shown, avoided)
    print("\n".join(problems) or f"{len(own)} words of weir's own; none of {len(avoided)} avoided words is used")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
