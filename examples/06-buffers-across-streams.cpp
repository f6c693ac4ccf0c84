// Lesson 6: memory that one stream makes and others use.
#include <cstdio>
#include <optional>
#include <weir/weir.hpp>

int main() {
  const weir::device gpu;
  const weir::stream s{gpu};
  const weir::stream t{gpu};
  weir::pinned_buffer<int> result{1 << 20, gpu};

  // The memory belongs to s. Before t uses it for the first time t has to wait for s, as always
  // between streams.
  std::optional<weir::buffer<int>> x{std::in_place, s, result.size()};
  weir::fill(s, *x, 42);
  t.wait(s);
  weir::copy(t, *x, result);

  // Freed in the order of s, while t may still be copying. A free that only looked at s would give
  // the memory to the next one too early; the buffer remembers that weir used it on t, and the free
  // waits for t, on the device.
  x.reset();

  // The next owner of that memory overwrites it. The copy is safe all the same.
  weir::buffer<int> next{s, result.size()};
  weir::fill(s, next, 0);

  // Work that weir did not queue, a kernel or a library's call, is told to the buffer:
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
