// SPDX-License-Identifier: Apache-2.0
// A program outside weir: sends a few numbers through a device and reads them back.
#include <weir/weir.hpp>

#include <cstdio>
#include <vector>

int main() {
  const weir::device gpu;
  weir::stream s{gpu};

  const std::vector<int> sent{1, 2, 3, 4};
  std::vector<int> received(sent.size());
  weir::buffer<int> on_device{s, sent.size()};
  weir::copy(s, sent, on_device);
  weir::copy(s, on_device, received);
  s.sync();

  std::printf("weir %s: %s\n", WEIR_VERSION_STRING,
              received == sent ? "the same numbers came back" : "WRONG NUMBERS");
  return received == sent ? 0 : 1;
}
