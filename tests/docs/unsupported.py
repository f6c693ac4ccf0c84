#!/usr/bin/env python3
"""unsupported.py ROOT [--write]: checks that docs/driver/embedded-driver.md lists the functions that the embedded driver lacks.

The lists are src/embedded/entry/later.def and unsupported.def: they define the exports that return CUDA_ERROR_NOT_SUPPORTED.
--write updates the page.
"""
import pathlib
import re
import sys
import textwrap

PAGE = "docs/driver/embedded-driver.md"
LISTS = {"later": "WEIR_LATER", "unsupported": "WEIR_UNSUPPORTED"}
OTHER_FORMS = "Forms of older versions of CUDA; the ones that programs built with CUDA 13.0 call are there"


def bases_it_has(entry_folder, functions):
    """Returns the base names of the functions that the driver has, in any version."""
    later = set(re.findall(r"^WEIR_LATER(?:_CHECKED)?\((\w+)", (entry_folder / "later.def").read_text(), re.M))
    pairs = re.findall(r"^WEIR_FUNCTION\((\w+),\s*(\w+)", functions.read_text(), re.M)
    return {base for symbol, base in pairs if symbol not in later}


def families(path, macro, has):
    """Returns the symbols of a list, by the comment above each group."""
    found, others = {}, []
    title, before = "", ""
    for line in path.read_text().splitlines():
        if comment := re.match(r"// (.*)", line):
            title = f"{title} {comment[1]}".strip() if before.startswith("//") else comment[1]
        elif entry := re.match(rf"{macro}\((\w+)(?:,\s*(\w+))?", line):
            if entry[2] in has:
                others.append(entry[1])
            else:
                found.setdefault(title.rstrip("."), []).append(entry[1])
        before = line
    return found | ({OTHER_FORMS: others} if others else {})


def rendered(found):
    """Returns the text of the page: a heading and a block for each family."""
    blocks = []
    for title, symbols in found.items():
        names = textwrap.fill(" ".join(sorted(symbols)), width=118, break_long_words=False, break_on_hyphens=False)
        blocks.append(f"{title}:\n\n```text\n{names}\n```\n")
    return "\n".join(blocks)


def main():
    root = pathlib.Path(sys.argv[1])
    page = root / PAGE
    text = page.read_text()
    updated = text
    entries = root / "src/embedded/entry"
    has = bases_it_has(entries, root / "src/driver/functions.def")
    for name, macro in LISTS.items():
        found = families(entries / f"{name}.def", macro, has)
        marks = re.compile(rf"(<!-- list of {name}\.def -->\n).*?(<!-- end of the list -->)", re.S)
        body = "\n" + rendered(found) + "\n" if found else "\nNone.\n\n"
        updated, replaced = marks.subn(lambda m: m[1] + body + m[2], updated)
        if replaced != 1:
            print(f"{PAGE}: has {replaced} places for the list of {name}.def")
            return 1
    if updated == text:
        print(f"{PAGE} is up to date")
        return 0
    if "--write" in sys.argv[2:]:
        page.write_text(updated)
        print(f"{PAGE} is written anew")
        return 0
    print(f"{PAGE} is out of date; run: tests/docs/unsupported.py . --write")
    return 1


if __name__ == "__main__":
    sys.exit(main())
