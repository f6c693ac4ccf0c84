// SPDX-License-Identifier: Apache-2.0
// Lesson 11: synchronization by a word of memory: all work is queued beforehand, and the host
// controls it by storing numbers.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <weir/weir.hpp>

namespace {

constexpr std::size_t chunk = 16 * 1024;
constexpr std::uint32_t chunks = 32;

}  // namespace

int main() {
  const weir::device gpu;
  const weir::stream s{gpu};
  weir::pinned_buffer<std::uint32_t> in{chunk, gpu};
  weir::pinned_buffer<std::uint32_t> out{chunk, gpu};
  weir::buffer<std::uint32_t> there{s, chunk};
  weir::wait_word<std::uint32_t> filled;  // number of chunks that the host has written to `in`
  weir::wait_word<std::uint32_t> done;    // number of chunks that the device has copied out

  // Queued once, before there is any data. From here on the host makes no driver call for a chunk.
  for (std::uint32_t i = 1; i <= chunks; ++i) {
    weir::wait_value(s, filled, weir::until::geq, i);
    weir::copy(s, in, there);
    weir::copy(s, there, out);
    weir::write_value(s, done, i);
  }

  std::uint32_t wrong = 0;
  for (std::uint32_t i = 1; i <= chunks; ++i) {
    std::fill(in.begin(), in.end(), i);
    filled.store(i);  // the stream continues and sees the host's writes
    while (done.load() != i) std::this_thread::yield();
    if (std::count(out.begin(), out.end(), i) != chunk) ++wrong;
  }
  s.sync();
  std::printf("%u of %u chunks were handed over and came back\n", chunks - wrong, chunks);
  return static_cast<int>(wrong);
}
