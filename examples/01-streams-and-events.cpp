// SPDX-License-Identifier: Apache-2.0
// Lesson 1: two streams, an event between them, and one wait of the host at the end.
#include <cstdio>
#include <vector>
#include <weir/weir.hpp>

int main() {
  std::vector<float> numbers(1'000'000);

  // [readme]
  weir::device gpu;                          // the first device: a GPU, or the embedded one
  weir::stream s{gpu}, t{gpu};               // two queues of work
  weir::buffer<float> x{s, numbers.size()};  // allocated in the order of s, and freed in it

  weir::fill(s, x, 2.0f);           // queued; the host does not wait
  weir::event filled = s.record();  // marks this point of s
  t.wait(filled);                   // the device waits for it, and the host does not
  weir::copy(t, x, numbers);
  weir::launch_host(t, [] { std::puts("copied"); });
  t.sync();  // here the host waits
  // [/readme]

  for (const float number : numbers) {
    if (number != 2.0f) return 1;
  }
}
