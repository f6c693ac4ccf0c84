// SPDX-License-Identifier: Apache-2.0
// reactor/engine_notification.hpp - asks the embedded engine to notify a completion queue when a
// stream's work reaches a point.
#pragma once

#include "driver/engine_services.hpp"
#include "os/spin_lock.hpp"

#include <atomic>
#include <cstdint>

namespace weir::detail {

class completion_queue;

// Lets the engine call the queue when the oldest point that has a waiter is reached. A point is a
// position in a stream's work. The engine holds one notification of a queue at most.
//
// Thread safety: all members may be called from any thread.
class engine_notification : engine_callback {
 public:
  explicit engine_notification(completion_queue& queue) noexcept;
  engine_notification(const engine_notification&) = delete;
  engine_notification& operator=(const engine_notification&) = delete;

  // Requests a notification for the oldest point that has a waiter. Points that are already reached
  // are completed here, and their waiters notified.
  void arm() noexcept;

  // Returns true while the engine holds or delivers a notification. The queue is not returned to
  // the pool during that time.
  [[nodiscard]] bool is_held() const noexcept { return holds_.load() != 0; }

 private:
  // Returns false if the point is already reached, so that the caller has to complete it.
  [[nodiscard]] bool try_arm() noexcept;
  // Subtracts 1 from holds_. If holds_ becomes 0, calls the queue's reclaim().
  void release() noexcept;
  static void on_reached(engine_callback& self) noexcept;

  completion_queue& queue_;
  os::spin_lock lock_;
  std::atomic<std::uint64_t> ticket_{0};  // the ticket that the engine will report; 0: none
  timeline_point point_;                  // the point of ticket_; guarded by lock_
  std::atomic<int> holds_{0};             // registered or running notifications
};

}  // namespace weir::detail
