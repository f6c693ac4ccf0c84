#!/bin/sh
# exports.sh LIBRARY LIST: checks that the drop-in exports exactly the symbols of the vendor's library, which LIST has for CUDA 13.0.
set -eu
library=$1 list=$2
command -v nm > /dev/null || { echo "needs nm"; exit 77; }

nm -D --defined-only "$library" | awk '$2 == "T" {print $3}' | LC_ALL=C sort | diff "$list" - && exit
echo "the drop-in lacks the lines marked <, and has the lines marked > too many" >&2
exit 1
