// SPDX-License-Identifier: Apache-2.0
// Lesson 6: memory that one stream allocates and others use.
#include <cstdio>
#include <optional>
#include <weir/weir.hpp>

int main() {
  const weir::device gpu;
  const weir::stream s{gpu};
  const weir::stream t{gpu};
  weir::pinned_buffer<int> result{1 << 20, gpu};

  // The memory belongs to s. As always between streams, t must wait for s before its first use.
  std::optional<weir::buffer<int>> x{std::in_place, s, result.size()};
  weir::fill(s, *x, 42);
  t.wait(s);
  weir::copy(t, *x, result);

  // The memory is freed in the order of s, while t may still be copying. A free that ignored t
  // would give the memory to the next owner too early. The buffer records that weir used it on t,
  // so the free waits for t, on the device.
  x.reset();

  // The next owner of the memory overwrites it. The copy is safe nevertheless.
  weir::buffer<int> next{s, result.size()};
  weir::fill(s, next, 0);

  // Work that weir did not queue, such as a kernel or a library call, is reported to the buffer by
  // next.used_on(t). A buffer can move to another stream, which then waits for the work of the
  // first.
  next.set_stream(t);
  s.sync();
  t.sync();
  for (const int number : result) {
    if (number != 42) return 1;
  }
  std::printf("%zu numbers arrived unharmed\n", result.size());
}
