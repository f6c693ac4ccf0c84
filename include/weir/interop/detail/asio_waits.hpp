// weir/interop/detail/asio_waits.hpp - the handlers of one Asio context that wait for work of a
// device, and end with the context.
#pragma once

#include <weir/detail/completion_waiter.hpp>

#include <asio/execution_context.hpp>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>

namespace weir::detail {

// A handler that waits, whatever its type is.
class asio_wait {
 public:
  asio_wait(const asio_wait&) = delete;
  asio_wait& operator=(const asio_wait&) = delete;

  // Gives it to its executor, which calls it with that outcome, or, if it was cancelled, with that.
  // It may be gone then.
  virtual void complete(errc outcome, bool cancelled) noexcept = 0;
  // Destroys it uncalled.
  virtual void destroy() noexcept = 0;

 protected:
  asio_wait() = default;
  ~asio_wait() = default;
};

// Each pending wait has a place, which is what the reactor tells, and what signals know the wait
// by: they may be emitted when it is long over, and somebody else has the place. Thread safety: all
// members, from any thread.
class asio_waits {
 public:
  struct slot : completion_waiter {
    asio_waits* pending_waits = nullptr;
    asio_wait* wait = nullptr;  // null: nobody
    completion_queue* queue = nullptr;
    unsigned long long generation = 0;  // how many have had it
    bool cancelled = false;
    slot* next_free = nullptr;
  };

  // Are they those whose executor calls them in place? None is then handed on but by a thread of
  // the reactor's.
  explicit asio_waits(bool runs_in_place) noexcept : runs_in_place_{runs_in_place} {}
  asio_waits(const asio_waits&) = delete;
  asio_waits& operator=(const asio_waits&) = delete;

  // Throws std::bad_alloc.
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

  // Of one that is not waited at.
  void discard(slot& at) noexcept {
    const std::lock_guard hold{lock_};
    release(at);
  }

  // Ends the wait that has the place in that life, unless it is over, or is being told.
  void cancel(slot& at, unsigned long long generation) noexcept {
    asio_wait* wait = nullptr;
    {
      const std::lock_guard hold{lock_};
      if (at.generation != generation || at.wait == nullptr || at.queue == nullptr ||
          !cancel_wait(*at.queue, at))
        return;
      if (runs_in_place_) {
        at.cancelled = true;
        ++at.generation;
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

  // Drops all waits.
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

  // Nobody comes any more, but for those who are still to be told of places that were given up.
  void close() noexcept {
    std::unique_lock hold{lock_};
    drop_reference(hold);
  }

 private:
  ~asio_waits() = default;

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
    ++me.completing_;  // its executor is there until it is handed on
    hold.unlock();
    wait->complete(outcome, cancelled);
    hold.lock();
    --me.completing_;
    me.completed_.notify_all();
  }

  void release(slot& at) noexcept {
    at.wait = nullptr;
    at.next_free = free_;
    free_ = &at;
  }

  void drop_reference(std::unique_lock<std::mutex>& hold) noexcept {
    const bool last = --references_ == 0;
    hold.unlock();
    if (last) delete this;
  }

  const bool runs_in_place_;
  std::mutex lock_;  // guards the following
  std::condition_variable completed_;
  std::deque<slot> slots_;
  slot* free_ = nullptr;
  std::size_t completing_ = 0;
  std::size_t references_ =
      1;  // the context, and places that were given up and are still to be told
};

// Those of a context, as a service of it: at its end Asio destroys the handlers that still wait,
// and so does this.
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
