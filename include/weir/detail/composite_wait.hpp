// SPDX-License-Identifier: Apache-2.0
// weir/detail/composite_wait.hpp - waits for one or several points, with a timeout or a stop
// request.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>
#include <weir/detail/completion_waiter.hpp>
#include <weir/detail/duration.hpp>
#include <weir/detail/export.hpp>

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <span>

namespace weir {

class completion;

namespace detail {

class composite_wait;
class reactor;

/// The wait for one point. The outcome is not_ready if the composite wait ended before the point
/// completed.
struct wait_item : completion_waiter {
  composite_wait* wait = nullptr;
  completion_queue* queue = nullptr;  ///< null for an empty completion
};

/// The number of points that have to complete.
enum class wait_count : unsigned char { one, all };

enum class wait_result : unsigned char { pending, done, timed_out, stopped };

/// Suspends a coroutine until enough of its points have completed, its timeout has passed, or it is
/// stopped. Whichever comes first cancels the others, and the last callback resumes the coroutine.
/// Several may come at once, from any thread.
class WEIR_EXPORT composite_wait {
 public:
  composite_wait(const composite_wait&) = delete;
  composite_wait& operator=(const composite_wait&) = delete;

  /// Ends the wait unless it has ended already. May be called from any thread while the object
  /// exists.
  void stop() noexcept;

  [[nodiscard]] wait_result result() const noexcept {
    return static_cast<wait_result>(state_.load() >> 1U);
  }
  /// Returns the index of the point that completed first, for wait_count::one.
  [[nodiscard]] std::size_t first() const noexcept { return first_; }

 protected:
  composite_wait(wait_count count, long long timeout) noexcept : timeout_{timeout}, count_{count} {}
  ~composite_wait() = default;

  static void set_item(wait_item& item, const completion& c) noexcept;

  /// Sets the timeout. Call it before try_complete().
  void set_timeout(long long nanoseconds) noexcept { timeout_ = nanoseconds; }
  void set_stop_requested() noexcept { stop_requested_ = true; }

  /// Returns true if there is nothing to wait for. Queries the driver for points whose outcome is
  /// not known.
  [[nodiscard]] bool try_complete(std::span<wait_item> items) noexcept;
  /// Starts the wait. Returns false if it has ended already, and the coroutine continues. Throws
  /// std::bad_alloc or std::system_error with nothing started.
  [[nodiscard]] bool start(std::span<wait_item> items, std::coroutine_handle<> awaiting);
  /// Throws the error of the first failed point.
  void throw_failure(std::span<const wait_item> items, call_site at) const;

 private:
  struct timeout_timer : wait_timer {
    composite_wait* wait = nullptr;
  };

  static void on_item_complete(completion_waiter& self, errc outcome) noexcept;
  static void on_timeout(wait_timer& self) noexcept;
  static void resume(completion_waiter& self, errc outcome) noexcept;
  /// They return the number of other callbacks that will not come any more.
  [[nodiscard]] std::size_t complete_item(const wait_item& item) noexcept;
  [[nodiscard]] std::size_t finish(wait_result result, std::size_t first) noexcept;
  [[nodiscard]] std::size_t cancel_all() noexcept;
  [[nodiscard]] bool finish_callbacks(std::size_t finished) noexcept;
  void post_resume() noexcept;

  std::span<wait_item> items_;
  std::coroutine_handle<> awaiting_;
  reactor* reactor_ = nullptr;  ///< has the timer; a completion queue may move to another reactor
  long long timeout_;           ///< nanoseconds; forever: no timeout
  timeout_timer timer_;
  std::size_t first_ = 0;
  std::atomic<std::size_t> remaining_{0};          ///< number of points that still have to complete
  std::atomic<std::size_t> pending_callbacks_{0};  ///< number of callbacks that will still come
  /// A wait_result; the lowest bit says that all waits have begun.
  std::atomic<unsigned> state_{0};
  wait_count count_;
  bool stop_requested_ = false;
};

/// A wait with a deadline. The remaining time is computed when the wait begins, which may be long
/// after the object was created.
template <class Base, time_point_like TimePoint>
class deadline_awaiter : public Base {
 public:
  template <class Source>
  deadline_awaiter(const Source& source, const TimePoint& deadline, call_site at)
      : Base{source, forever, at}, deadline_{deadline} {}

  [[nodiscard]] bool await_ready() {
    this->set_timeout(nanoseconds_until(deadline_));
    return Base::await_ready();
  }

 private:
  TimePoint deadline_;
};

}  // namespace detail
}  // namespace weir
