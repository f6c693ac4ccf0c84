// SPDX-License-Identifier: Apache-2.0
// reactor/completion_points.hpp - the pending points of a queue, and the waiters of each point.
#pragma once

#include "os/spin_lock.hpp"
#include "reactor/completion_ring.hpp"

#include <weir/core/errc.hpp>
#include <weir/detail/completion_waiter.hpp>

#include <atomic>
#include <cstdint>

namespace weir::detail {

class reactor;

// The pending points of a queue by ticket, each with a list of waiters, and the lock of the queue.
//
// Thread safety: status(), failed(), first_awaited() and lock() may be called from any thread. All
// other members require the lock.
class completion_points {
 public:
  static constexpr std::uint64_t none = ~std::uint64_t{0};

  explicit completion_points(reactor& owner) noexcept : owner_{owner} {}
  completion_points(const completion_points&) = delete;
  completion_points& operator=(const completion_points&) = delete;

  // Returns success, not_ready or the error of the work.
  [[nodiscard]] errc status(std::uint64_t ticket) const noexcept;
  [[nodiscard]] bool failed() const noexcept {
    return failure_.load(std::memory_order_acquire) != errc::success;
  }
  // Returns the oldest ticket that has a waiter; `none` if no point has one.
  [[nodiscard]] std::uint64_t first_awaited() const noexcept { return first_awaited_.load(); }

  // The lock is held for a few nanoseconds at a time.
  [[nodiscard]] os::spin_lock& lock() const noexcept { return lock_; }
  [[nodiscard]] completion_ring& ring() noexcept { return ring_; }
  [[nodiscard]] const completion_ring& ring() const noexcept { return ring_; }

  // Says which threads notify waiters that have no run loop: the reactor's thread has to poll for
  // such waiters, and counts them.
  enum class notifier : unsigned char { reactor, engine };

  // Begins a generation. Returns its first ticket, which stands for a stream without pending work:
  // it is complete from the beginning.
  std::uint64_t begin_generation(notifier by_whom) noexcept;

  // Adds the waiter to a pending point. Returns true if no earlier point has a waiter.
  // count_waiter() has to follow.
  [[nodiscard]] bool add_waiter(completion_waiter& waiter, std::uint64_t ticket) noexcept;
  // Returns true if the waiter was registered and will not be notified.
  [[nodiscard]] bool remove_waiter(completion_waiter& waiter) noexcept;
  // Adds `change` to the number of waiters of the waiter's run loop or of the reactor's thread.
  void count_waiter(const completion_waiter& waiter, int change) noexcept;

  // Completes the points up to `ticket`: moves their waiters to `ready_waiters` and calls
  // keep(value) for each point.
  template <class Keep>
  void complete_through(std::uint64_t ticket, waiter_list& ready_waiters,
                        const Keep& keep) noexcept {
    // Changes before the demand is lowered: a thread that then sees no demand also sees that the
    // queue has no waiters.
    if (first_awaited_ <= ticket) find_first_awaited(ticket + 1);
    take_through(ticket, errc::success, ready_waiters, keep);
    completed_.store(ticket + 1, std::memory_order_release);
  }

  // Like complete_through() for all points, which and all later ones have failed with `outcome`.
  template <class Keep>
  void fail(errc outcome, waiter_list& ready_waiters, const Keep& keep) noexcept {
    failure_.store(outcome, std::memory_order_release);
    first_awaited_ = none;
    take_through(ring_.end() - 1, outcome, ready_waiters, keep);
  }

 private:
  template <class Keep>
  void take_through(std::uint64_t ticket, errc outcome, waiter_list& ready_waiters,
                    const Keep& keep) noexcept {
    for (std::uint64_t taken = ring_.begin(); taken <= ticket; ++taken) {
      const pending_point& point = ring_[taken];
      if (point.first_waiter != nullptr) take_waiters(point, outcome, ready_waiters);
      keep(point.value);
    }
    ring_.pop_through(ticket);
  }
  void take_waiters(const pending_point& point, errc outcome, waiter_list& ready_waiters) noexcept;
  void find_first_awaited(std::uint64_t ticket) noexcept;

  // The first ticket that is not complete; never decreases. After a failure all later tickets have
  // failed.
  alignas(64) std::atomic<std::uint64_t> completed_{1};
  std::atomic<errc> failure_{errc::success};
  // Changes under the lock. Stands in this cache line because threads that add points and the
  // reactor read it often and hardly ever change it.
  std::atomic<std::uint64_t> first_awaited_{none};

  alignas(64) mutable os::spin_lock lock_;
  notifier notifier_ = notifier::reactor;
  int demand_ = 0;  // the number of waiters that need the reactor thread
  completion_ring ring_;
  reactor& owner_;
};

}  // namespace weir::detail
