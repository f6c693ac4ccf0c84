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

/// The waiter of a composite_wait for one point. Its outcome is not_ready if the composite wait
/// ended before the point completed.
struct wait_item : completion_waiter {
  composite_wait* wait = nullptr;
  completion_queue* queue = nullptr;  ///< null for an empty completion
};

/// The number of points that have to complete.
enum class wait_count : unsigned char { one, all };

/// How a composite_wait ended; `pending` until it has ended.
enum class wait_result : unsigned char { pending, done, timed_out, stopped };

/// Suspends a coroutine until enough points have completed, the timeout has passed, or stop() is
/// called. A callback reports each of these events, on any thread. The first one ends the wait and
/// cancels the others. Callbacks that were too late to cancel still come, and the last of all
/// resumes the coroutine.
class WEIR_EXPORT composite_wait {
 public:
  composite_wait(const composite_wait&) = delete;
  composite_wait& operator=(const composite_wait&) = delete;

  /// Ends the wait with the result `stopped`, unless it has ended already. May be called from any
  /// thread while the object exists.
  void stop() noexcept;

  /// Returns how the wait ended.
  [[nodiscard]] wait_result result() const noexcept {
    return static_cast<wait_result>(state_.load() >> 1U);
  }
  /// Returns the index of the point that completed first, for wait_count::one.
  [[nodiscard]] std::size_t first() const noexcept { return first_; }

 protected:
  /// `timeout` in nanoseconds; `forever` for none.
  composite_wait(wait_count count, long long timeout) noexcept : timeout_{timeout}, count_{count} {}
  ~composite_wait() = default;

  /// Sets the point for which the item waits.
  static void set_item(wait_item& item, const completion& c) noexcept;

  /// Sets the timeout. Call it before try_complete().
  void set_timeout(long long nanoseconds) noexcept { timeout_ = nanoseconds; }
  /// States that stop was requested before the wait. Call it before try_complete().
  void set_stop_requested() noexcept { stop_requested_ = true; }

  /// Ends the wait and returns true if enough points have completed, stop was requested, or the
  /// timeout is not positive. Queries the driver for points whose outcome is not known.
  [[nodiscard]] bool try_complete(std::span<wait_item> items) noexcept;
  /// Starts the wait. Call it only if try_complete() has returned false. Returns false if the wait
  /// has ended meanwhile: the coroutine then continues without being resumed by a callback. Throws
  /// std::bad_alloc or std::system_error with nothing started.
  [[nodiscard]] bool start(std::span<wait_item> items, std::coroutine_handle<> awaiting);
  /// Throws the error of the first failed point in the order of `items`, or the exception of a host
  /// function of a stream, if there is any.
  void throw_failure(std::span<const wait_item> items, call_site at) const;

 private:
  struct timeout_timer : wait_timer {
    composite_wait* wait = nullptr;
  };

  static void on_item_complete(completion_waiter& self, errc outcome) noexcept;
  static void on_timeout(wait_timer& self) noexcept;
  static void resume(completion_waiter& self, errc outcome) noexcept;
  /// complete_item(), finish() and cancel_all() return how many callbacks they have cancelled. The
  /// caller passes that number, plus 1 for its own callback, to finish_callbacks().
  [[nodiscard]] std::size_t complete_item(const wait_item& item) noexcept;
  [[nodiscard]] std::size_t finish(wait_result result, std::size_t first) noexcept;
  [[nodiscard]] std::size_t cancel_all() noexcept;
  /// Subtracts from the number of pending callbacks. Returns true if none is left, so that the
  /// caller must resume the coroutine.
  [[nodiscard]] bool finish_callbacks(std::size_t finished) noexcept;
  /// Resumes the coroutine on a thread that may run user code.
  void post_resume() noexcept;

  std::span<wait_item> items_;
  std::coroutine_handle<> awaiting_;
  /// The reactor that has the timer. Stored, because a completion queue may move to another
  /// reactor.
  reactor* reactor_ = nullptr;
  long long timeout_;  ///< nanoseconds; `forever`: no timeout
  timeout_timer timer_;
  std::size_t first_ = 0;                          ///< index of the first completed point
  std::atomic<std::size_t> remaining_{0};          ///< number of points that still have to complete
  std::atomic<std::size_t> pending_callbacks_{0};  ///< number of callbacks that will still come
  /// The wait_result, shifted left by 1. The lowest bit is set when start() has registered all
  /// waiters.
  std::atomic<unsigned> state_{0};
  wait_count count_;
  bool stop_requested_ = false;  ///< true if stop was requested before the wait
};

/// Like the awaiter `Base`, with a deadline instead of a timeout. The remaining time is computed
/// when the wait begins, which may be long after the object was created.
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
