#!/bin/sh
# make_tree.sh CMAKE BUILD TREE: installs a build into a fresh TREE, by way of another place, because an installed tree
# may be moved.
set -eu
cmake=$1 build=$2 tree=$3

rm -rf "$tree" "$tree.before"
"$cmake" --install "$build" --prefix "$tree.before" >/dev/null
mv "$tree.before" "$tree"

# The tool finds its library relative to itself, and the drop-in keeps out of the way of a real driver.
"$tree/bin/weir" --version
test -f "$tree/include/weir/interop/asio.hpp"
find "$tree" -path '*/weir/libcuda.so.1' | grep -q . || { echo "no drop-in below $tree"; exit 1; }
if grep -rlF "$tree.before" "$tree" --include='*.cmake' --include='*.pc'; then
  echo "the files above name the place of the first installation"
  exit 1
fi
