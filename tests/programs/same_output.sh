#!/bin/sh
# same_output.sh EXPECTED PROGRAM: fails where the program does, or prints anything else than the file EXPECTED has.
# 77, which CTest takes for "skipped", where there is no driver's library to run on.
set -u
output=$("$2")
status=$?
[ $status -eq 127 ] && exit 77
[ $status -eq 0 ] || exit $status
printf '%s\n' "$output" | diff "$1" -
