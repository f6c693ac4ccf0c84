// deferred_exit_within_test.cpp - the end of the process, called on weir's own thread by what a closure holds.
#include <weir/deferred.hpp>
#include <weir/device.hpp>
#include <weir/host_function.hpp>
#include <weir/pinned_buffer.hpp>
#include <weir/stream.hpp>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "support/child.hpp"

namespace weir {
namespace {

// A process that hangs at its end is killed, and its test fails.
constexpr unsigned seconds_to_end = 30;

std::atomic<bool> may_exit{false};
std::atomic<bool> exits{false};

struct exits_at_its_end {
  exits_at_its_end() = default;
  exits_at_its_end(const exits_at_its_end&) = delete;
  exits_at_its_end& operator=(const exits_at_its_end&) = delete;
  ~exits_at_its_end() {
    while (!may_exit) std::this_thread::yield();
    exits = true;
    std::exit(0);
  }
};

// A process ends once: this thread does not end it too.
[[noreturn]] void exit_on_weirs_thread() {
  const stream s{device{}};
  launch_host(s, [held = std::make_shared<exits_at_its_end>()] {});
  s.sync();
  for (;;) ::pause();
}

// A static whose thread drains, and is joined at the end of the process.
template <class Body>
struct joins {
  explicit joins(Body body) : other{body} {}
  joins(const joins&) = delete;
  joins& operator=(const joins&) = delete;
  ~joins() { other.join(); }
  std::thread other;
};

// There is something to wait for.
void await_left() {
  while (deferred_count() == 0) std::this_thread::yield();
}

TEST(DeferredExitWithin, EndsTheWaitOfAThreadThatIsJoined) {
  test::in_a_fresh_process([]() -> bool {
    alarm(seconds_to_end);
    static const joins waits{[] {
      await_left();
      may_exit = true;
      drain_deferred();
    }};
    exit_on_weirs_thread();
  });
}

TEST(DeferredExitWithin, LeavesNothingToWaitForAfterwards) {
  test::in_a_fresh_process([]() -> bool {
    alarm(seconds_to_end);
    static const joins waits{[] {
      const auto begun = std::chrono::steady_clock::now();
      std::optional<pinned_buffer<int>> memory{std::in_place, 1};
      may_exit = true;
      while (!exits || std::chrono::steady_clock::now() - begun < std::chrono::milliseconds{20})
        std::this_thread::yield();
      memory.reset();
      drain_deferred();
      drain_deferred();
    }};
    exit_on_weirs_thread();
  });
}

}  // namespace
}  // namespace weir
