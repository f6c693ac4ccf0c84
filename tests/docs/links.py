#!/usr/bin/env python3
"""links.py ROOT: checks that every link of the pages to a file of this project leads to an existing file."""
import pathlib
import re
import sys

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.M | re.S)


def main():
    root = pathlib.Path(sys.argv[1])
    pages = [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("tests/**/*.md")]
    broken = [
        f"{page.relative_to(root)}: {link} does not exist"
        for page in pages
        for link in LINK.findall(CODE.sub("", page.read_text()))
        if "://" not in link and not (page.parent / link).exists()
    ]
    print("\n".join(broken) or f"the links of {len(pages)} pages lead somewhere")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
