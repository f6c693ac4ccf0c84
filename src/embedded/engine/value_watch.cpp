// engine/value_watch.cpp - looking at words of memory, closely at first and then ever less often.
#include "embedded/engine/value_watch.hpp"

#include <algorithm>
#include <chrono>

#include "embedded/engine/driver_thread.hpp"
#include "embedded/engine/futex.hpp"
#include "embedded/engine/idle_spin.hpp"

namespace weir::embedded::engine {

using namespace std::chrono_literals;

void value_watch::add(timeline& line) noexcept {
  bool first = false;
  {
    const std::lock_guard lock{mutex_};
    waiting_.push_back(&line);
    first = !std::exchange(started_, true);
  }
  additions_.fetch_add(1, std::memory_order_release);
  if (first) {
    start_driver_thread("weir-values", [this] { keep_looking(); });
  } else {
    futex_wake(additions_, 1);
  }
}

bool value_watch::look() noexcept {
  arrived_.clear();
  {
    const std::lock_guard lock{mutex_};
    std::erase_if(waiting_, [&](timeline* line) {
      if (!line->value_arrived()) return false;
      arrived_.push_back(line);
      return true;
    });
  }
  // Without the lock: this may start a worker.
  for (timeline* line : arrived_) line->unpark();
  return !arrived_.empty();
}

void value_watch::keep_looking() noexcept {
  constexpr std::chrono::nanoseconds shortest = 20us;
  constexpr std::chrono::nanoseconds longest = 1ms;
  idle_spin idle;
  std::chrono::nanoseconds nap = shortest;
  for (;;) {
    const std::uint32_t seen = additions_.load(std::memory_order_acquire);
    if (look()) {
      idle.reset();
      nap = shortest;
      continue;
    }
    if (idle.once_more()) continue;
    bool nothing = false;
    {
      const std::lock_guard lock{mutex_};
      nothing = waiting_.empty();
    }
    if (nothing) {
      futex_wait(additions_, seen);
    } else {
      futex_wait_for(additions_, seen, nap);
      nap = std::min(2 * nap, longest);
    }
    if (additions_.load(std::memory_order_acquire) != seen) {
      idle.reset();
      nap = shortest;
    }
  }
}

}  // namespace weir::embedded::engine
