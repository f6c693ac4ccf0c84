// SPDX-License-Identifier: Apache-2.0
// Lesson 15: finding the calls that make the host wait, and the work that fails.
#include <cstdio>
#include <stdexcept>
#include <vector>
#include <weir/weir.hpp>

namespace {

// One step of a loop that should only queue work. Two of its lines make the host wait, the copy
// only implicitly.
void step(weir::stream_ref s, weir::buffer<float>& x, std::vector<float>& result) {
  weir::fill(s, x, 1.0f);
  weir::copy(s, x, result);  // pageable memory: the driver stages it, and the caller waits
  s.sync();
}

void three_steps(weir::stream_ref s, weir::buffer<float>& x, std::vector<float>& result) {
  for (int i = 0; i < 3; ++i) step(s, x, result);
}

}  // namespace

int main() {
  const weir::stream s{weir::device{}};
  weir::buffer<float> x{s, 1000};
  std::vector<float> result(1000);

  // Reported: all calls are allowed, and the guard records the lines that wait.
  std::size_t waits = 0;
  {
    const weir::sync_guard watch{weir::sync_rule::reported};
    three_steps(s, x, result);
    for (const weir::sync_guard::wait& w : watch.waits()) {
      std::printf("line %u waits: %s, %zu times\n", w.where.line(), w.call, w.times);
      waits += w.times;
    }
  }

  // Forbidden: the first wait throws, and its error names the guard.
  bool refused = false;
  try {
    const weir::sync_guard none{weir::sync_rule::forbidden};
    three_steps(s, x, result);
  } catch (const weir::error& e) {
    refused = e.result() == weir::errc::not_permitted;
    std::printf("%s\n", e.what());
  }

  // Verify mode: the call that queued the failing work throws, and not a later call.
  bool at_once = false;
  const bool before = weir::verify_operations(true);
  try {
    weir::launch_host(s, [] { throw std::runtime_error{"this one"}; });
    weir::fill(s, x, 2.0f);  // without verify mode this succeeds, and the sync after it throws
  } catch (const std::runtime_error& e) {
    at_once = true;
    std::printf("launch_host: %s\n", e.what());
  }
  weir::verify_operations(before);
  s.sync();
  return waits == 6 && refused && at_once ? 0 : 1;
}
