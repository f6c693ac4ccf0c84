// Lesson 2: the kinds of memory, and copies between them.
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <span>
#include <vector>
#include <weir/weir.hpp>

int main() {
  const weir::device gpu;
  const weir::stream s{gpu};

  // Memory of the device, in the order of a stream: it may be used by work that is queued on s from
  // here on.
  weir::buffer<int> there{s, 1000};

  // Pinned memory of the host: copies from and to it run while the host does something else.
  weir::pinned_buffer<int> pinned{1000, gpu};
  std::iota(pinned.begin(), pinned.end(), 0);
  weir::copy(s, pinned, there);

  // Part of it: a std::span says which elements.
  const std::span first_ten{there.data(), 10};
  weir::fill(s, first_ten, -1);

  // Ordinary memory of the host works as well. It has to live until the copy is done: a temporary
  // does not compile, and sync_scope makes certain that the work of a block is done when the block
  // ends, also when it ends by an exception.
  std::vector<int> back(1000);
  weir::sync_scope(s, [&](weir::stream_ref inside) { weir::copy(inside, there, back); });

  const auto unset = std::count(back.begin(), back.end(), -1);
  std::printf("%ld numbers were set to -1, and the last is %d\n", static_cast<long>(unset),
              back.back());
  return unset == 10 && back[10] == 10 && back[999] == 999 ? 0 : 1;
}
