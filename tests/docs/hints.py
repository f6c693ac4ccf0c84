#!/usr/bin/env python3
"""hints.py ROOT [--write]: checks that docs/internals/hints.md lists all hints of error messages, and that each hint keeps to the style.

The hints are the string literals that src/api and src/driver pass to the functions in HINT_ARGUMENT, return from functions that compose
hints, assign to the variables in VARIABLES, or keep in the tables in TABLES. --write updates the page.
"""
import pathlib
import re
import sys
import textwrap

PAGE = "docs/internals/hints.md"
FOLDERS = ["src/api", "src/driver"]
NOT_HINTS = ["src/api/core/to_string.cpp", "src/driver/results.hpp"]
# The position of the hint in the arguments of each function that throws or stores one.
HINT_ARGUMENT = {
    "throw_error": 3,
    "error": 3,
    "throw_invalid_batch": -2,
    "throw_invalid_number": 2,
    "throw_invalid_role": 0,
    "throw_wrong_type": 1,
    "fail_end": 2,
    "set_attribute": 3,
    "set_problem": 3,
    "require": 1,
}
VARIABLES = ["allowed", "damage", "hint", "how", "reason", "why"]
TABLES = ["attribute_texts texts_by_attribute", "char* no_such_node", "hint_entry hints", "} obstacles", "node_kind_texts texts_by_kind"]
OFFENCES = [
    r"^(Of|Where|What|Those|Whoever|One|Such)\b",
    r"\b(nobody|somebody|whoever|lives on|as ever|behind weir's back|has to be|have to be)\b",
    r"\bnone of\b",
]
HEADING = """# Hints

The hints of weir's error messages, by source file, in the order of the source. `{}` stands for a value or a name.
A line that starts with a space or a punctuation mark continues another one.
[hints.py](../../tests/docs/hints.py) writes this page: `tests/docs/hints.py . --write`.

A hint states the cause with the offending value and the allowed ones, then the way out as an imperative: `cause; way out`.
"""
TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'|\w+|\s+|\S", re.S)
CLOSING = {"(": ")", "{": "}", "[": "]"}


def tokens_of(text):
    """Returns the tokens without comments and blanks. Adjacent string literals become one."""
    tokens = []
    for token in TOKEN.findall(text):
        if token.isspace() or token.startswith(("//", "/*")):
            continue
        if token.startswith('"') and tokens and tokens[-1].startswith('"'):
            tokens[-1] = tokens[-1][:-1] + token[1:]
        else:
            tokens.append(token)
    return tokens


def arguments_of(tokens, opening):
    """Returns the position range of each argument of the call whose bracket is at `opening`."""
    ranges, depth, first = [], 0, opening + 1
    for i in range(opening, len(tokens)):
        if tokens[i] in CLOSING:
            depth += 1
        elif tokens[i] in CLOSING.values():
            depth -= 1
        if depth == 0 or (depth == 1 and tokens[i] == ","):
            ranges.append(range(first, i))
            first = i + 1
        if depth == 0:
            return ranges
    return []


def statement_from(tokens, first):
    """Returns the position range up to the end of the statement."""
    depth = 0
    for i in range(first, len(tokens)):
        depth += (tokens[i] in CLOSING) - (tokens[i] in CLOSING.values())
        if depth < 0 or (depth == 0 and tokens[i] == ";"):
            return range(first, i)
    return range(first, len(tokens))


def starts_table(tokens, i):
    words = " ".join(tokens[max(0, i - 3) : i + 1]).replace(" *", "*")
    return any(words.endswith(table) for table in TABLES)


def spans_of(tokens):
    """Yields the position ranges that contain hints."""
    for i, token in enumerate(tokens[:-1]):
        following = tokens[i + 1]
        if token in HINT_ARGUMENT and following in "({":
            found = arguments_of(tokens, i + 1)
            position = HINT_ARGUMENT[token]
            if len(found) > position + (token in ("throw_error", "error")) and len(found) >= -position:
                yield found[position]
        elif token == "return" or (token in VARIABLES and following in "=+{"):
            yield statement_from(tokens, i + 1)
        elif starts_table(tokens, i):
            yield statement_from(tokens, i + 1)


def hints_of(path):
    """Returns the hints of a source file, each once, in the order of the source."""
    tokens = tokens_of(path.read_text())
    positions = sorted({i for span in spans_of(tokens) for i in span})
    texts = [tokens[i][1:-1].replace('\\"', '"') for i in positions if tokens[i].startswith('"')]
    return list(dict.fromkeys(text for text in texts if text.count(" ") >= 3))


def rendered(hints):
    blocks = [HEADING]
    for name, texts in hints.items():
        lines = [textwrap.fill(text, width=118, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False) for text in texts]
        blocks.append(f"## {name}\n\n```text\n" + "\n".join(lines) + "\n```\n")
    return "\n".join(blocks)


def main():
    root = pathlib.Path(sys.argv[1])
    sources = sorted(path for folder in FOLDERS for path in (root / folder).rglob("*") if path.suffix in (".cpp", ".hpp"))
    names = [path.relative_to(root).as_posix() for path in sources]
    hints = {name: found for name in names if not name.startswith(tuple(NOT_HINTS)) and (found := hints_of(root / name))}
    offences = [
        f"{name}: '{found[0]}' in \"{text}\""
        for name, texts in hints.items()
        for text in texts
        for pattern in OFFENCES
        if (found := re.search(pattern, text, re.I if pattern.startswith(r"\b") else 0))
    ]
    print("\n".join(offences) or f"{sum(map(len, hints.values()))} hints of {len(hints)} files keep to the style")
    page = root / PAGE
    text = rendered(hints)
    if page.exists() and page.read_text() == text:
        print(f"{PAGE} is up to date")
    elif "--write" in sys.argv[2:]:
        page.write_text(text)
        print(f"{PAGE} has been updated")
    else:
        print(f"{PAGE} is out of date; run: tests/docs/hints.py . --write")
        return 1
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
