// weir/interop/detail/asio_waits.hpp - the handlers of one Asio context that wait for work of a device, and end with the context.
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

  // Gives it to its executor, which calls it with that outcome, or, if it was cancelled, with that. It may be gone then.
  virtual void hand_on(errc outcome, bool cancelled) noexcept = 0;
  // Destroys it uncalled.
  virtual void drop() noexcept = 0;

 protected:
  asio_wait() = default;
  ~asio_wait() = default;
};

// Each pending wait has a place, which is what the reactor tells, and what signals know the wait by: they may be emitted when
// it is long over, and somebody else has the place. Thread safety: all members, from any thread.
class asio_waits {
 public:
  struct place : completion_waiter {
    asio_waits* among = nullptr;
    asio_wait* who = nullptr;  // null: nobody
    lane* where = nullptr;
    unsigned long long life = 0;  // how many have had it
    bool cancelled = false;
    place* next_free = nullptr;
  };

  // Are they those whose executor calls them in place? None is then handed on but by a thread of the reactor's.
  explicit asio_waits(bool called_in_place) noexcept : called_in_place_{called_in_place} {}
  asio_waits(const asio_waits&) = delete;
  asio_waits& operator=(const asio_waits&) = delete;

  // Throws std::bad_alloc.
  [[nodiscard]] place& enter(asio_wait& who, lane* where) {
    const std::lock_guard hold{lock_};
    if (free_ == nullptr) free_ = &places_.emplace_back();
    place& taken = *free_;
    free_ = taken.next_free;
    static_cast<completion_waiter&>(taken) = completion_waiter{};
    taken.told = &be_told;
    taken.among = this;
    taken.who = &who;
    taken.where = where;
    taken.cancelled = false;
    ++taken.life;
    return taken;
  }

  // Of one that is not waited at.
  void leave(place& at) noexcept {
    const std::lock_guard hold{lock_};
    release(at);
  }

  // Ends the wait that has the place in that life, unless it is over, or is being told.
  void cancel(place& at, unsigned long long life) noexcept {
    asio_wait* who = nullptr;
    {
      const std::lock_guard hold{lock_};
      if (at.life != life || at.who == nullptr || at.where == nullptr || !take_back(*at.where, at)) return;
      if (called_in_place_) {
        at.cancelled = true;
        ++at.life;
      } else {
        who = at.who;
        release(at);
      }
    }
    if (who != nullptr) {
      who->hand_on(errc::success, true);
    } else {
      tell_soon(at.where, at);
    }
  }

  // Drops all waits.
  void drop_all() noexcept {
    std::unique_lock hold{lock_};
    std::size_t seen = 0;
    while (seen < places_.size()) {
      place& at = places_[seen++];
      asio_wait* const who = at.who;
      if (who == nullptr) continue;
      at.who = nullptr;
      if (at.where != nullptr && take_back(*at.where, at)) {
        release(at);
      } else {
        ++users_;
      }
      hold.unlock();
      who->drop();
      hold.lock();
    }
    handed_.wait(hold, [this] { return handing_ == 0; });
  }

  // Nobody comes any more, but for those who are still to be told of places that were given up.
  void end() noexcept {
    std::unique_lock hold{lock_};
    let_go(hold);
  }

 private:
  ~asio_waits() = default;

  static void be_told(completion_waiter& self, errc outcome) noexcept {
    auto& at = static_cast<place&>(self);
    asio_waits& me = *at.among;
    std::unique_lock hold{me.lock_};
    asio_wait* const who = at.who;
    const bool cancelled = at.cancelled;
    me.release(at);
    if (who == nullptr) {
      me.let_go(hold);
      return;
    }
    ++me.handing_;  // its executor is there until it is handed on
    hold.unlock();
    who->hand_on(outcome, cancelled);
    hold.lock();
    --me.handing_;
    me.handed_.notify_all();
  }

  void release(place& at) noexcept {
    at.who = nullptr;
    at.next_free = free_;
    free_ = &at;
  }

  void let_go(std::unique_lock<std::mutex>& hold) noexcept {
    const bool last = --users_ == 0;
    hold.unlock();
    if (last) delete this;
  }

  const bool called_in_place_;
  std::mutex lock_;  // guards the following
  std::condition_variable handed_;
  std::deque<place> places_;
  place* free_ = nullptr;
  std::size_t handing_ = 0;
  std::size_t users_ = 1;  // the context, and places that were given up and are still to be told
};

// Those of a context, as a service of it: at its end Asio destroys the handlers that still wait, and so does this.
class asio_wait_service : public ::asio::execution_context::service {
 public:
  static inline ::asio::execution_context::id id;

  explicit asio_wait_service(::asio::execution_context& owner) : ::asio::execution_context::service{owner} {}
  asio_wait_service(const asio_wait_service&) = delete;
  asio_wait_service& operator=(const asio_wait_service&) = delete;
  ~asio_wait_service() override { waits_->end(); }

  [[nodiscard]] asio_waits& waits() noexcept { return *waits_; }

 private:
  void shutdown() override { waits_->drop_all(); }

  asio_waits* waits_ = new asio_waits{false};
};

}  // namespace weir::detail
