// SPDX-License-Identifier: Apache-2.0
// Lesson 10: a pipeline: copies in, work, copies out and checks on the host, all concurrently.
#include <algorithm>
#include <cstdio>
#include <deque>
#include <weir/weir.hpp>

namespace {

constexpr std::size_t chunk = 64 * 1024;
constexpr int chunks = 40;

// The resources of one chunk in flight. A few slots are enough: the host waits for a slot only
// before it reuses the slot.
struct slot {
  slot(weir::stream_ref s, weir::device gpu)
      : in{chunk, gpu}, out{chunk, gpu}, there{s, chunk}, done{gpu} {}

  weir::pinned_buffer<int> in;
  weir::pinned_buffer<int> out;
  weir::buffer<int> there;
  weir::event done;  // recorded again for each chunk
  bool correct = true;
};

}  // namespace

int main() {
  const weir::device gpu;
  const weir::stream copying_in{gpu};
  const weir::stream copying_out{gpu};
  const weir::stream checking{gpu};
  std::deque<slot> slots;
  for (int i = 0; i < 4; ++i) slots.emplace_back(copying_in.ref(), gpu);

  int wrong = 0;
  for (int i = 0; i < chunks; ++i) {
    slot& s = slots[static_cast<std::size_t>(i) % slots.size()];
    s.done.sync();  // returns at once if the event was never recorded
    if (!s.correct) ++wrong;

    std::fill(s.in.begin(), s.in.end(), i);
    weir::copy(copying_in, s.in, s.there);
    copying_out.wait(copying_in);
    weir::copy(copying_out, s.there, s.out);
    checking.wait(copying_out);
    weir::launch_host(checking,
                      [&s, i] { s.correct = std::count(s.out.begin(), s.out.end(), i) == chunk; });
    checking.record(s.done);
  }
  checking.sync();
  for (const slot& s : slots) {
    if (!s.correct) ++wrong;
  }
  std::printf("%d of %d chunks came back as they were sent\n", chunks - wrong, chunks);
  return wrong;
}
