#!/bin/sh
# check.sh shared|static|dropin FILE: prints what FILE exports or needs and should not, and fails if there is anything.
set -u
kind=$1 file=$2
status=0

# refuse WHAT LINES: fails with the lines, if there are any.
refuse() {
  [ -z "$2" ] && return
  printf '%s %s:\n%s\n' "$file" "$1" "$2"
  status=1
}
# expect WHAT PATTERN LINES: fails where no line matches.
expect() {
  printf '%s\n' "$3" | grep -qE "$2" && return
  printf '%s %s\n' "$file" "$1"
  status=1
}
# without PATTERN LINES: the lines that do not match, as C++ names.
without() { printf '%s\n' "$2" | grep -vE "$1" | c++filt; }

case $kind in
  static) names=$(nm -g --defined-only "$file" | awk 'NF == 3 {print $3}') ;;
  *) names=$(nm -D --defined-only "$file" | awk '{print $NF}') ;;
esac
dynamic=$(readelf -d "$file" 2>/dev/null)

case $kind in
  shared)
    expect "does not export weir::stream" '^_ZN4weir6stream' "$names"
    expect "does not export its C functions" '^weir_stream_wait$' "$names"
    refuse "exports what is not weir's" "$(without '^(weir_|_Z(T[ISTV])?N[KRO]*4weir)' "$names")"
    ;;
  static)
    # A driver function in the archive would take the place of the vendor's in a program that is linked with both.
    expect "does not define weir::stream" '^_ZN4weir6stream' "$names"
    refuse "defines functions of the CUDA driver" "$(printf '%s\n' "$names" | grep -E '^cu[A-Z]')"
    ;;
  dropin)
    expect "does not export cuInit" '^cuInit$' "$names"
    expect "has another soname than libcuda.so.1" 'SONAME.*\[libcuda\.so\.1\]' "$dynamic"
    refuse "exports what is not the CUDA driver API's" "$(without '^cu[A-Z]' "$names")"
    ;;
esac
if [ "$kind" = shared ]; then
  # A program has some 1.6 KiB for the thread-local memory of all libraries that it loads at run time, as bindings do.
  thread_local=$((0 + $(readelf -lW "$file" | awk '$1 == "TLS" {print $6}')))
  [ "$thread_local" -le 1280 ] || refuse "has too much thread-local memory to be loaded at run time" "$thread_local bytes"
fi
if [ "$kind" != static ]; then
  needed=$(printf '%s\n' "$dynamic" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
  usual='^((libstdc\+\+|libm|libgcc_s|libc|libdl|libpthread)\.so|ld-linux)'
  refuse "needs more than the C++ library" "$(without "$usual" "$needed")"
fi
exit $status
