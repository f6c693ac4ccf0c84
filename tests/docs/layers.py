#!/usr/bin/env python3
"""layers.py ROOT: checks that every #include of src, include, tools/weir and examples obeys the tables of layers in CONTRIBUTING.md.

| Folder | What is in it | May include |   a layer is a folder with its subfolders, or files; the longest matching path is the layer of a file.
| File | Also includes | Why |            single exceptions; an unneeded exception is an error.

"May include" names layers, in backticks, and libraries, plain. Every layer may include itself and the C++ standard library; all but
include may also include system headers. Without the exceptions, layers include each other without cycles, except a folder and its subfolders.
"""
import pathlib
import re
import sys

PAGE = "CONTRIBUTING.md"
FOLDERS = ("src", "include", "tools/weir", "examples")
PUBLIC = "include/"
NOT_CODE = {".txt", ".cmake", ".in", ".md"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
# The include paths from the root, and the device headers, which include each other by name.
ROOTS = ("include", "src", "tools/weir")
DEVICE = "src/compile/device"
# src/compile/embed.cmake copies these into the device headers.
COPIED = {f"{DEVICE}/weir/module_abi.h": "src/driver/abi/module_abi.h"}
# A system header has no folder or one of these. The folder of any other header is the name of its library.
SYSTEM = {"arpa", "asm", "bits", "linux", "net", "netinet", "sanitizer", "sys"}
LIBRARY_HEADERS = {"zlib.h": "zlib"}
C_STANDARD = {"assert.h", "limits.h", "math.h", "stdbool.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h"}


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def table(text, *headings):
    """Returns the rows of the table with these headings."""
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("|") and cells(line) == list(headings)]
    if len(starts) != 1:
        sys.exit(f"{PAGE}: expected one table | {' | '.join(headings)} |")
    rows = []
    for line in lines[starts[0] + 2 :]:
        if not line.startswith("|"):
            break
        rows.append(cells(line))
    return rows


def named(cell):
    """Returns the paths of a cell, without the trailing slash of folders."""
    return [path.rstrip("/") for path in re.findall(r"`([^`]+)`", cell)]


def read_layers(text):
    """Returns the layer of each path, named by its first path, and what each may include: None for everything."""
    layer_of, allowed = {}, {}
    for folder, _, may in table(text, "Folder", "What is in it", "May include"):
        paths = named(folder)
        layer_of |= dict.fromkeys(paths, paths[0])
        libraries = [item.strip() for item in re.sub(r"`[^`]*`", "", may).split(",")]
        allowed[paths[0]] = None if may == "everything" else {*named(may), *filter(None, libraries)}
    return layer_of, allowed


def layer(path, layer_of):
    """Returns the layer that a file belongs to, or None."""
    fitting = [known for known in layer_of if path == known or path.startswith(known + "/")]
    return layer_of[max(fitting, key=len)] if fitting else None


def found_in_tree(root, path, name):
    """Returns the path of an included file from the root; None if it is not a file of this repository."""
    places = [(root / path).parent, *([root / DEVICE] if path.startswith(DEVICE) else []), *(root / each for each in ROOTS)]
    for place in places:
        target = (place / name).resolve()
        if target.is_relative_to(root):
            inside = target.relative_to(root).as_posix()
            if target.is_file() or inside in COPIED:
                return COPIED.get(inside, inside)
    return None


def outsider(name):
    """Returns the library of an external header: its name, "system", or None for the standard library."""
    if name in LIBRARY_HEADERS:
        return LIBRARY_HEADERS[name]
    folder, slash, _ = name.partition("/")
    if slash:
        return "system" if folder in SYSTEM else folder
    return None if "." not in name or name in C_STANDARD else "system"


def complaint(root, path, name, quoted, layer_of, allowed, exceptions, needed):
    """Returns the error in an include, or None."""
    own = layer(path, layer_of)
    target = found_in_tree(root, path, name) if quoted or outsider(name) or path.startswith(DEVICE) else None
    if target is None and quoted:
        return "there is no such file"
    if target is None:
        other = outsider(name)
        fine = other is None or (other == "system" and not path.startswith(PUBLIC)) or other in allowed[own]
        return None if fine else f"{own} may not include {'system headers' if other == 'system' else other}"
    other = layer(target, layer_of)
    if other is None:
        return f"{target} belongs to no layer of the table"
    if other == own or other in allowed[own]:
        return None
    if target in exceptions.get(path, ()):
        needed.add((path, target))
        return None
    return f"{target} is of {other}; {own} may include: {', '.join(sorted(allowed[own])) or 'only itself'}"


def cycle(allowed):
    """Returns a cycle of layers that may include each other, as a path, or None."""

    def related(a, b):
        return a.startswith(b + "/") or b.startswith(a + "/")

    def walk(at, path):
        if at in path:
            return [*path[path.index(at) :], at]
        for other in sorted(allowed.get(at) or ()):
            if not related(at, other) and (found := walk(other, [*path, at])):
                return found
        return None

    return next((found for start in allowed if (found := walk(start, []))), None)


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    text = (root / PAGE).read_text()
    layer_of, allowed = read_layers(text)
    exceptions = {}
    for file, also, _ in table(text, "File", "Also includes", "Why"):
        exceptions.setdefault(named(file)[0], set()).update(named(also))
    wrong, needed, count = [], set(), 0
    for path in layer_of:
        if not (root / path).exists():
            wrong.append(f"{PAGE}: {path} does not exist")
    for own, may in allowed.items():
        wrong += [f"{PAGE}: {own} may include {other}, which has no row" for other in may or () if "/" in other and other not in allowed]
    if found := cycle(allowed):
        wrong.append(f"{PAGE}: layers include each other in a cycle: {' > '.join(found)}")
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if not file.is_file() or file.suffix in NOT_CODE:
                continue
            path = file.relative_to(root).as_posix()
            if layer(path, layer_of) is None:
                wrong.append(f"{path} belongs to no layer of {PAGE}")
                continue
            for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
                if include := INCLUDE.match(line):
                    count += 1
                    name = include[1] or include[2]
                    quoted = include[1] is not None or name.startswith("weir/")
                    if what := complaint(root, path, name, quoted, layer_of, allowed, exceptions, needed):
                        wrong.append(f"{path}:{number}: {name}: {what}")
    for path, targets in exceptions.items():
        wrong += [f"{PAGE}: {path} does not need the exception {target}" for target in sorted(targets) if (path, target) not in needed]
    print("\n".join(wrong) or f"{count} includes obey {len(allowed)} layers, {len(needed)} of them by exception")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
