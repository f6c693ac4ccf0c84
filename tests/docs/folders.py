#!/usr/bin/env python3
"""folders.py ROOT: checks that each folder of the repository directly holds at most LIMIT files."""
import collections
import os
import pathlib
import subprocess
import sys

LIMIT = 35
# Folders that may hold more files, and their limits. Remove an entry when its folder has shrunk: an unneeded entry is an error.
EXCEPTIONS = {
    "tests/sequences/corpus": (None, "one file for each program that a fuzzer found; no person reads it as a list"),
    "src/compile/host": (36, "the translator of kernels; another design replaces it"),
}
NOT_OURS = {"build", "out", "shared"}


def files_of_git(root):
    """Returns the tracked files and the new ones that are not ignored; None if git fails in this folder."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        answer = subprocess.run(command, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    names = {name.decode(errors="replace") for name in answer.stdout.split(b"\0") if name}
    return [name for name in names if (root / name).is_file()] or None


def files_on_disk(root):
    """Returns all files except those in build folders and hidden ones."""
    for folder, folders, files in os.walk(root):
        ignored = NOT_OURS if pathlib.Path(folder) == root else set()
        folders[:] = [f for f in folders if f not in ignored and not f.startswith((".git", ".cache", "__pycache__"))]
        yield from ((pathlib.Path(folder) / file).relative_to(root).as_posix() for file in files)


def main():
    root = pathlib.Path(sys.argv[1])
    held = collections.Counter(pathlib.PurePosixPath(name).parent.as_posix() for name in files_of_git(root) or files_on_disk(root))
    wrong = []
    for folder, count in sorted(held.items()):
        limit, _ = EXCEPTIONS.get(folder, (LIMIT, ""))
        if limit is not None and count > limit:
            wrong.append(f"{folder} holds {count} files, more than {limit}; divide it by subject")
    for folder, (_, reason) in EXCEPTIONS.items():
        if held[folder] <= LIMIT:
            wrong.append(f"{folder} holds {held[folder]} files and needs no exception ({reason}); take it out of {pathlib.Path(__file__).name}")
    rest = {folder: count for folder, count in held.items() if folder not in EXCEPTIONS}
    fullest = max(rest, key=rest.get)
    print("\n".join(wrong) or f"{len(held)} folders hold at most {LIMIT} files, with {len(EXCEPTIONS)} exceptions")
    print(f"the fullest folder without an exception is {fullest} with {rest[fullest]} files; of all it is {held.most_common(1)[0][0]}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
