// SPDX-License-Identifier: Apache-2.0
// reactor/completion_points.hpp - the pending points of a queue, and the waiters of each point.
#pragma once

#include "os/spin_lock.hpp"
#include "reactor/completion_ring.hpp"
#include "reactor/linked_queue.hpp"

#include <weir/core/errc.hpp>
#include <weir/detail/completion_waiter.hpp>

#include <atomic>
#include <cstdint>

namespace weir::detail {

class reactor;

// The pending points of a queue, found by ticket, and the lock of the queue. A point is a position
// in a stream's work, and its ticket is its number. Each point has a list of waiters.
//
// Thread safety: status(), failed(), first_awaited() and lock() may be called from any thread. The
// caller of any other member function holds lock().
class completion_points {
 public:
  // Stands for no ticket.
  static constexpr std::uint64_t none = ~std::uint64_t{0};

  explicit completion_points(reactor& owner) noexcept : owner_{owner} {}
  completion_points(const completion_points&) = delete;
  completion_points& operator=(const completion_points&) = delete;

  // Returns success if the point with this ticket is complete, not_ready if it is pending, else the
  // error of the stream's work.
  [[nodiscard]] errc status(std::uint64_t ticket) const noexcept;
  // Returns true if the stream's work has failed.
  [[nodiscard]] bool failed() const noexcept {
    return failure_.load(std::memory_order_acquire) != errc::success;
  }
  // Returns the oldest ticket that has a waiter; `none` if no point has one.
  [[nodiscard]] std::uint64_t first_awaited() const noexcept { return first_awaited_.load(); }

  // The lock is held for a few nanoseconds at a time.
  [[nodiscard]] os::spin_lock& lock() const noexcept { return lock_; }
  [[nodiscard]] completion_ring& ring() noexcept { return ring_; }
  [[nodiscard]] const completion_ring& ring() const noexcept { return ring_; }

  // Says which thread completes the points. `reactor`: the reactor's thread has to poll for waiters
  // that have no run loop (run_loop.hpp), so count_waiter() counts them. `engine`: a thread of the
  // embedded engine calls the queue, so no thread has to poll.
  enum class notifier : unsigned char { reactor, engine };

  // Begins a generation, the period in which the queue serves one stream. Returns its first ticket,
  // which is complete from the beginning and stands for a stream without pending work.
  std::uint64_t begin_generation(notifier by_whom) noexcept;
  // Changes the thread that completes the points. No point may be pending.
  void set_notifier(notifier by_whom) noexcept { notifier_ = by_whom; }

  // Adds the waiter to a pending point. Returns true if neither this point nor an earlier one had a
  // waiter. The caller then calls count_waiter(waiter, 1), after it has set waiter.loop.
  [[nodiscard]] bool add_waiter(completion_waiter& waiter, std::uint64_t ticket) noexcept;
  // Removes the waiter and calls count_waiter(waiter, -1). Returns false, and does nothing, if the
  // waiter is not registered or is being notified.
  [[nodiscard]] bool remove_waiter(completion_waiter& waiter) noexcept;
  // Adds `change` to the counter to which the waiter belongs: the run loop's number of registered
  // waiters, else the number of waiters for which the reactor's thread has to poll. A waiter for
  // which no thread has to poll belongs to no counter.
  void count_waiter(const completion_waiter& waiter, int change) noexcept;

  // Completes all points up to and including `ticket`. Moves their waiters to `ready_waiters` and
  // calls keep(value) for each point.
  template <class Keep>
  void complete_through(std::uint64_t ticket, waiter_list& ready_waiters,
                        const Keep& keep) noexcept {
    // first_awaited_ changes before take_through() lowers the reactor's demand. A thread that reads
    // a demand of 0 therefore also reads that this queue has no waiters.
    if (first_awaited_ <= ticket) find_first_awaited(ticket + 1);
    take_through(ticket, errc::success, ready_waiters, keep);
    completed_.store(ticket + 1, std::memory_order_release);
  }

  // Like complete_through() for all pending points, but they fail with `outcome`. Points that are
  // added afterwards fail, too.
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

  // The first ticket that is not complete; never decreases. If failure_ is not success, that ticket
  // and all later ones have failed.
  alignas(64) std::atomic<std::uint64_t> completed_{1};
  std::atomic<errc> failure_{errc::success};
  // The oldest ticket that has a waiter, or `none`. Changed with the lock held. It shares the cache
  // line of completed_, because many threads read both often and hardly ever change them.
  std::atomic<std::uint64_t> first_awaited_{none};

  alignas(64) mutable os::spin_lock lock_;
  notifier notifier_ = notifier::reactor;
  int demand_ = 0;  // the number of waiters that need the reactor thread
  completion_ring ring_;
  reactor& owner_;
};

}  // namespace weir::detail
