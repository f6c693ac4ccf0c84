#!/bin/sh
# The deterministic schedules: one seed gives one order, run after run, and another seed another.
# usage: same_order.sh PROGRAM KIND
set -eu
program=$1
kind=$2
run() { WEIR_DRIVER=embedded WEIR_EMBEDDED_SCHEDULE="$kind:$1" "$program"; }

first=$(run 1)
for again in 1 2 3; do
  order=$(run 1)
  [ "$order" = "$first" ] || { echo "seed 1 gave two orders:"; echo "$first"; echo "$order"; exit 1; }
done
for seed in 2 3 4 5 6 7 8; do
  [ "$(run $seed)" = "$first" ] || exit 0
done
echo "eight seeds gave the same order: $first"
exit 1
