#!/usr/bin/env python3
"""unsupported.py ROOT [--write]: checks that docs/driver/embedded-driver.md lists the functions that the embedded driver lacks.

The list is src/embedded/entry/unsupported.def: it defines the exports that return CUDA_ERROR_NOT_SUPPORTED.
--write updates the page.
"""
import pathlib
import re
import sys
import textwrap

PAGE = "docs/driver/embedded-driver.md"
OTHER_FORMS = "Forms of older versions of CUDA; the ones that programs built with CUDA 13.0 call are there"


def bases_it_has(functions):
    """Returns the base names of the functions that the driver has, in any version."""
    return set(re.findall(r"^WEIR_FUNCTION\(\w+,\s*(\w+)", functions.read_text(), re.M))


def families(path, has):
    """Returns the symbols of a list, by the comment above each group."""
    found, others = {}, []
    title, before = "", ""
    for line in path.read_text().splitlines():
        if comment := re.match(r"// (.*)", line):
            title = f"{title} {comment[1]}".strip() if before.startswith("//") else comment[1]
        elif entry := re.match(r"WEIR_UNSUPPORTED\((\w+)(?:,\s*(\w+))?", line):
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
    found = families(root / "src/embedded/entry/unsupported.def", bases_it_has(root / "src/driver/functions.def"))
    marks = re.compile(r"(<!-- list of unsupported\.def -->\n).*?(<!-- end of the list -->)", re.S)
    updated, replaced = marks.subn(lambda m: f"{m[1]}\n{rendered(found)}\n{m[2]}", text)
    if replaced != 1:
        print(f"{PAGE}: has {replaced} places for the list of unsupported.def")
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
