// driver/driver_activity.hpp - do threads of the program call the driver, and how often?
#pragma once

#include <atomic>
#include <cstdint>

namespace weir::detail {

// Whoever wants to know begins a round, and sees at its end whether anybody has called. Of each
// thread the first call of a round says so; all others are a look at a line that nobody writes
// meanwhile, and where nobody wants to know there are no rounds. Where several want to know, of
// other devices, the calls of each count for the others.
struct driver_activity {
  alignas(64) std::atomic<std::uint64_t> epoch{0};
  // As a rule the last in which somebody has: a thread that is late may still say so of an earlier
  // one.
  alignas(64) std::atomic<std::uint64_t> last_active_epoch{0};
};
inline constinit driver_activity activity;
inline constinit thread_local std::uint64_t thread_epoch [[gnu::tls_model("initial-exec")]] = 0;

// Of each call that is made for the program; a nanosecond.
[[gnu::always_inline]] inline void record_driver_call() noexcept {
  const std::uint64_t epoch = activity.epoch.load(std::memory_order_relaxed);
  if (epoch == thread_epoch) [[likely]] {
    return;
  }
  thread_epoch = epoch;
  activity.last_active_epoch.store(epoch, std::memory_order_relaxed);
}

// Begins another round, in which the calling thread itself does not count, and gives its number.
[[nodiscard]] inline std::uint64_t begin_activity_epoch() noexcept {
  thread_epoch = activity.epoch.fetch_add(1, std::memory_order_relaxed) + 1;
  return thread_epoch;
}

// Has anybody else called since that round began?
[[nodiscard]] inline bool called_since(std::uint64_t epoch) noexcept {
  return activity.last_active_epoch.load(std::memory_order_relaxed) >= epoch;
}

}  // namespace weir::detail
