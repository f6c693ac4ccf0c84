#!/usr/bin/env bash
# Runs a built probe on the GPU's own driver and tells how the answers differ from the recording.
#   on_gpu.sh PROBE [OUT]
# OUT (default: $OUT, else the current folder) gets conformance-gpu.txt, the answers, and conformance-gpu.diff, the differences.
# Takes up to five minutes. Exit status 0 if nothing differs, 1 if something does or was not run.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
probe=${1:?usage: on_gpu.sh PROBE [OUT]}
out=${2:-${OUT:-.}}
mkdir -p "$out"

unset WEIR_LIBCUDA  # the vendor's libcuda.so.1
status=0
"$probe" --jobs=3 --budget=280 --verbose --out="$out/conformance-gpu.txt" --compare="$here/h200.txt" \
  >"$out/conformance-gpu.diff" || status=$?
cat "$out/conformance-gpu.diff"
if grep -q 'skipped=budget' "$out/conformance-gpu.txt"; then
  echo "on_gpu.sh: not every case was run in time; go on with: $probe --resume=$out/conformance-gpu.txt --out=..." >&2
  status=1
fi
exit "$status"
