#!/usr/bin/env bash
# Runs random sequences on the vendor's driver: on_gpu.sh BIN OUTDIR [SEEDS [LENGTH [SECONDS]]]. Leaves their text, and
# the differences to a second run of some of them, which show what depends on time.
set -uo pipefail
bin=$1 out=$2 seeds=${3:-0..19999} length=${4:-60} budget=${5:-240}
mkdir -p "$out"
jobs=$(($(nproc) < 8 ? $(nproc) : 8))
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$bin" --seeds="$seeds" --length="$length" --jobs="$jobs" --budget="$budget" --out="$work/text" 2>"$out/errors.txt"
echo "run: exit status $?" >"$out/summary.txt"
gzip -9 <"$work/text" | split -b 15M -d - "$out/text.gz."
{
  echo "sequences: $(grep -c '^seed ' "$work/text")"
  echo "crashes: $(grep -c '^crash' "$work/text")"
  echo "hangs: $(grep -c '^hang' "$work/text")"
} >>"$out/summary.txt"
"$bin" --compare="$work/text" --seeds="${seeds%%..*}..1999" --length="$length" --jobs=$((jobs / 2 + 1)) --budget=60 >"$out/again.txt" 2>>"$out/errors.txt"
tail -n 1 "$out/again.txt" >>"$out/summary.txt"
cat "$out/summary.txt"
