// Lesson 15: which call makes the host wait, and which work has failed.
#include <cstdio>
#include <stdexcept>
#include <vector>
#include <weir/weir.hpp>

namespace {

// One step of a loop that should only queue work. Two of its lines make the host wait, one of them
// in disguise.
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

  // Watch: everything goes on as ever, and the guard keeps the lines.
  std::size_t waits = 0;
  {
    const weir::sync_guard watch{weir::sync_rule::reported};
    three_steps(s, x, result);
    for (const weir::sync_guard::wait& w : watch.waits()) {
      std::printf("line %u waits: %s, %zu times\n", w.where.line(), w.call, w.times);
      waits += w.times;
    }
  }

  // Forbid: the first wait throws, and says which guard forbids it.
  bool refused = false;
  try {
    const weir::sync_guard none{false};
    three_steps(s, x, result);
  } catch (const weir::error& e) {
    refused = e.result() == weir::errc::not_permitted;
    std::printf("%s\n", e.what());
  }

  // Verify: what fails comes out of the call that queued it, instead of some later one.
  bool at_once = false;
  const bool before = weir::verify_operations(true);
  try {
    weir::launch_host(s, [] { throw std::runtime_error{"this one"}; });
    weir::fill(s, x, 2.0f);  // without verify mode this passes, and the sync after it throws
  } catch (const std::runtime_error& e) {
    at_once = true;
    std::printf("launch_host: %s\n", e.what());
  }
  weir::verify_operations(before);
  s.sync();
  return waits == 6 && refused && at_once ? 0 : 1;
}
