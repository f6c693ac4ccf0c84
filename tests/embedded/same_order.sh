#!/bin/sh
# Checks the deterministic schedules: a seed gives an equal order in every run, and another seed gives another order.
# usage: same_order.sh PROGRAM KIND
#        same_order.sh PROGRAM KIND beside MILLISECONDS   schedule_order, on a processor with other load
set -eu
program=$1
kind=$2
how=${3:-alone}
slow=${4:-}
run() { WEIR_DRIVER=embedded WEIR_EMBEDDED_SCHEDULE="$kind:$1" "$program" $slow; }

first=$(run 1)
if [ "$how" = beside ]; then
  processor=$(taskset -cp $$ | sed 's/.*[: ]\([0-9]*\)[^ ]*$/\1/')
  taskset -cp "$processor" $$ > /dev/null
  others=
  trap 'kill $others' EXIT
  for other in 1 2 3; do
    sh -c 'while :; do :; done' &
    others="$others $!"
  done
fi
for again in 1 2 3; do
  order=$(run 1)
  [ "$order" = "$first" ] || { echo "seed 1 gave two orders:"; echo "$first"; echo "$order"; exit 1; }
done
[ "$how" = alone ] || exit 0
for seed in 2 3 4 5 6 7 8; do
  [ "$(run $seed)" = "$first" ] || exit 0
done
echo "eight seeds gave the same order: $first"
exit 1
