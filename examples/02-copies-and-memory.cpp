// SPDX-License-Identifier: Apache-2.0
// Lesson 2: the kinds of memory, and copies between them.
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>
#include <weir/weir.hpp>

int main() {
  const weir::device gpu;
  const weir::stream s{gpu};

  // Device memory in the order of a stream: work that is queued on s from here on may use it.
  weir::buffer<int> there{s, 1000};

  // Pinned host memory: the host can do other work during copies from and to it.
  weir::pinned_buffer<int> pinned{1000, gpu};
  std::iota(pinned.begin(), pinned.end(), 0);
  weir::copy(s, pinned, there);

  // A part of the memory.
  weir::fill(s, there.first(10), -1);

  // Ordinary host memory works as well. It must exist until the copy is done: a temporary does not
  // compile, and sync_scope waits for the work of a block at the end of the block, also on an
  // exception.
  std::vector<int> back(1000);
  weir::sync_scope(s, [&](weir::stream_ref inside) { weir::copy(inside, there, back); });

  const auto unset = std::count(back.begin(), back.end(), -1);
  std::printf("%ld numbers were set to -1, and the last is %d\n", static_cast<long>(unset),
              back.back());
  return unset == 10 && back[10] == 10 && back[999] == 999 ? 0 : 1;
}
