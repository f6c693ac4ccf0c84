// SPDX-License-Identifier: Apache-2.0
// weir/interop/detail/asio_waits.hpp - the pending waits of one Asio context, which end with the
// context.
#pragma once

#include <weir/detail/completion_waiter.hpp>

#include <asio/execution_context.hpp>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>

namespace weir::detail {

/// A waiting handler of any type.
class asio_wait {
 public:
  asio_wait(const asio_wait&) = delete;
  asio_wait& operator=(const asio_wait&) = delete;

  /// Passes the handler to its executor, which calls it with the outcome or with the cancellation.
  /// The handler may be destroyed when this returns.
  virtual void complete(errc outcome, bool cancelled) noexcept = 0;
  /// Destroys the handler without calling it.
  virtual void destroy() noexcept = 0;

 protected:
  asio_wait() = default;
  ~asio_wait() = default;
};

/// The pending waits of one context. Each wait has a slot, which the reactor notifies. A
/// cancellation signal identifies a wait by slot and generation, because the signal may be emitted
/// when the wait has ended and another wait uses the slot. destroy_all() abandons a slot whose
/// notification it cannot cancel any more. An abandoned slot has no wait, and is released when the
/// reactor has notified it.
///
/// Thread safety: all members may be called from any thread.
class asio_waits {
 public:
  struct slot : completion_waiter {
    asio_waits* pending_waits = nullptr;
    asio_wait* wait = nullptr;          ///< null if the slot is free or abandoned
    completion_queue* queue = nullptr;  ///< null for a completion without work
    unsigned long long generation = 0;  ///< changes with each wait that uses the slot
    bool cancelled = false;             ///< set by cancel() if a reactor thread calls the handler
    slot* next_free = nullptr;
  };

  /// `runs_in_place`: true for executors that call handlers on the submitting thread. Only reactor
  /// threads then submit handlers.
  explicit asio_waits(bool runs_in_place) noexcept : runs_in_place_{runs_in_place} {}
  asio_waits(const asio_waits&) = delete;
  asio_waits& operator=(const asio_waits&) = delete;

  /// Takes a free slot for a wait. `queue` is null for a completion without work. Throws
  /// std::bad_alloc.
  [[nodiscard]] slot& acquire(asio_wait& wait, completion_queue* queue) {
    const std::lock_guard hold{lock_};
    if (free_ == nullptr) free_ = &slots_.emplace_back();
    slot& free_slot = *free_;
    free_ = free_slot.next_free;
    static_cast<completion_waiter&>(free_slot) = completion_waiter{};
    free_slot.on_complete = &handle_completion;
    free_slot.pending_waits = this;
    free_slot.wait = &wait;
    free_slot.queue = queue;
    free_slot.cancelled = false;
    ++free_slot.generation;
    return free_slot;
  }

  /// Releases a slot whose waiter is not registered with the reactor.
  void discard(slot& at) noexcept {
    const std::lock_guard hold{lock_};
    release(at);
  }

  /// Cancels the wait that uses the slot `at` with this generation. Does nothing if that wait has
  /// ended, or if the reactor is notifying it.
  void cancel(slot& at, unsigned long long generation) noexcept {
    asio_wait* wait = nullptr;
    {
      const std::lock_guard hold{lock_};
      if (at.generation != generation || at.wait == nullptr || at.queue == nullptr ||
          !cancel_wait(*at.queue, at))
        return;
      if (runs_in_place_) {
        at.cancelled = true;
        ++at.generation;  // so that another signal finds no wait
      } else {
        wait = at.wait;
        release(at);
      }
    }
    if (wait != nullptr) {
      wait->complete(errc::success, true);
    } else {
      post_completion(at.queue, at);
    }
  }

  /// Destroys all waiting handlers without calling them. Called at the end of the context. Blocks
  /// until no reactor thread passes a handler to its executor any more.
  void destroy_all() noexcept {
    std::unique_lock hold{lock_};
    std::size_t seen = 0;
    while (seen < slots_.size()) {
      slot& at = slots_[seen++];
      asio_wait* const wait = at.wait;
      if (wait == nullptr) continue;
      at.wait = nullptr;
      if (at.queue != nullptr && cancel_wait(*at.queue, at)) {
        release(at);
      } else {
        ++references_;
      }
      hold.unlock();
      wait->destroy();
      hold.lock();
    }
    completed_.wait(hold, [this] { return completing_ == 0; });
  }

  /// Drops the context's reference. The object is destroyed when the reactor has also notified all
  /// abandoned slots.
  void close() noexcept {
    std::unique_lock hold{lock_};
    drop_reference(hold);
  }

 private:
  ~asio_waits() = default;

  /// Called by the reactor. Releases the slot and passes the handler to its executor.
  static void handle_completion(completion_waiter& self, errc outcome) noexcept {
    auto& at = static_cast<slot&>(self);
    asio_waits& me = *at.pending_waits;
    std::unique_lock hold{me.lock_};
    asio_wait* const wait = at.wait;
    const bool cancelled = at.cancelled;
    me.release(at);
    if (wait == nullptr) {
      me.drop_reference(hold);
      return;
    }
    ++me.completing_;  // until it is 0 again, destroy_all() keeps the context alive
    hold.unlock();
    wait->complete(outcome, cancelled);
    hold.lock();
    --me.completing_;
    me.completed_.notify_all();
  }

  /// Puts the slot into the list of free slots. The caller holds lock_.
  void release(slot& at) noexcept {
    at.wait = nullptr;
    at.next_free = free_;
    free_ = &at;
  }

  /// Drops a reference and unlocks `hold`, which holds lock_. May destroy this object.
  void drop_reference(std::unique_lock<std::mutex>& hold) noexcept {
    const bool last = --references_ == 0;
    hold.unlock();
    if (last) delete this;
  }

  const bool runs_in_place_;
  std::mutex lock_;                    // guards the members below
  std::condition_variable completed_;  // notified when completing_ decreases
  std::deque<slot> slots_;
  slot* free_ = nullptr;        // first free slot
  std::size_t completing_ = 0;  // reactor threads that are passing a handler to its executor
  /// References: one of the context, and one of each abandoned slot that the reactor has not
  /// notified yet.
  std::size_t references_ = 1;
};

/// The pending waits of a context, as an Asio service. Like Asio's own services, it destroys the
/// waiting handlers at the end of the context.
class asio_wait_service : public ::asio::execution_context::service {
 public:
  static inline ::asio::execution_context::id id;

  explicit asio_wait_service(::asio::execution_context& owner)
      : ::asio::execution_context::service{owner} {}
  asio_wait_service(const asio_wait_service&) = delete;
  asio_wait_service& operator=(const asio_wait_service&) = delete;
  ~asio_wait_service() override { waits_->close(); }

  [[nodiscard]] asio_waits& waits() noexcept { return *waits_; }

 private:
  void shutdown() override { waits_->destroy_all(); }

  asio_waits* waits_ = new asio_waits{false};
};

}  // namespace weir::detail
