// SPDX-License-Identifier: Apache-2.0
// Lesson 3: measuring how long work takes on the device.
#include <cstdio>
#include <weir/weir.hpp>

int main() {
  const weir::device gpu;
  const weir::stream s{gpu};
  weir::buffer<unsigned char> x{s, std::size_t{32} << 20};
  weir::buffer<unsigned char> y{s, x.size()};
  weir::fill(s, x, static_cast<unsigned char>(1));

  // Events with timing are a separate type: the time of another event cannot be requested.
  const weir::timed_event start = s.record_timed();
  weir::copy(s, x, y);
  const weir::timed_event end = s.record_timed();

  // elapsed() does not wait: it throws not_ready while the copy runs. sync_elapsed() first waits
  // for both events.
  const float milliseconds = weir::sync_elapsed(start, end);
  std::printf("copying 32 MiB on %s took %.3f ms\n", gpu.name(), milliseconds);

  // Both events are complete now, so elapsed() does not throw.
  return milliseconds >= 0 && weir::elapsed(start, end) == milliseconds ? 0 : 1;
}
