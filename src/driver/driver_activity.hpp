// SPDX-License-Identifier: Apache-2.0
// driver/driver_activity.hpp - detects driver calls by threads of the program.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir::detail {

// An epoch is a period between two calls of begin_activity_epoch(). An observer (a reactor's
// thread) begins an epoch and checks at its end whether another thread has called the driver.
// The first call of each thread in an epoch is recorded. All other calls of the thread in that
// epoch only read `epoch`, whose cache line no thread writes before the next epoch. Without an
// observer there are no epochs.
//
// Observers of different devices share the epochs, so a call for one device also counts for the
// others.
struct driver_activity {
  alignas(64) std::atomic<std::uint64_t> epoch{0};
  // Usually the last epoch with a call. A delayed thread may store an earlier one.
  alignas(64) std::atomic<std::uint64_t> last_active_epoch{0};
};
inline constinit driver_activity activity;
// The last epoch in which the calling thread has recorded a call, or which it began itself.
inline constinit thread_local std::uint64_t thread_epoch [[gnu::tls_model("initial-exec")]] = 0;

// Records a driver call that is made for the program. Cost: about 1 ns.
[[gnu::always_inline]] inline void record_driver_call() noexcept {
  const std::uint64_t epoch = activity.epoch.load(std::memory_order_relaxed);
  if (epoch == thread_epoch) [[likely]] {
    return;
  }
  thread_epoch = epoch;
  activity.last_active_epoch.store(epoch, std::memory_order_relaxed);
}

// Begins an epoch in which the calling thread's own calls do not count. Returns its number.
[[nodiscard]] inline std::uint64_t begin_activity_epoch() noexcept {
  thread_epoch = activity.epoch.fetch_add(1, std::memory_order_relaxed) + 1;
  return thread_epoch;
}

// Returns true if another thread has called the driver since `epoch` began.
[[nodiscard]] inline bool called_since(std::uint64_t epoch) noexcept {
  return activity.last_active_epoch.load(std::memory_order_relaxed) >= epoch;
}

}  // namespace weir::detail
