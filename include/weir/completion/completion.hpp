// SPDX-License-Identifier: Apache-2.0
// weir/completion/completion.hpp - a point in a stream's work that can be polled, waited for and
// awaited.
#pragma once

#include <weir/completion/executor.hpp>
#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>
#include <weir/detail/awaitable_of.hpp>
#include <weir/detail/completion_awaiter.hpp>
#include <weir/detail/completion_waiter.hpp>
#include <weir/detail/duration.hpp>
#include <weir/detail/export.hpp>

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace weir {

namespace detail {
class completion_access;
}

/// A point in a stream's work: the end of all work that was queued in the stream when the
/// completion was created. It has the size of two pointers, owns nothing, and is cheap to copy.
///
/// It always completes: with success, with the error of the work, or with the error of its context,
/// even if the stream was destroyed. Any number of threads and coroutines may poll, wait for and
/// await a completion, and all of them get one result. Destroying a completion does not block; the
/// work continues.
/// A coroutine that awaits a completion resumes about 4 us after the end of the work on an H200.
/// weir uses no host functions or callbacks for this, because they slow the stream down. The
/// coroutine resumes on the thread that began the await if that thread is in sync_wait(). Otherwise
/// it resumes on a reactor thread (weir/completion/reactor.hpp). resume_on() selects an executor
/// instead.
/// An await that must suspend may throw std::bad_alloc. The first such await may throw
/// std::system_error if no thread can be started. The co_await expression throws the exception, and
/// the coroutine is not suspended.
/// In a child process after fork every member reports `not_initialized`, even if the result was
/// known before the fork. Only a default-constructed completion is still done there.
///
/// In a capture: allowed while other streams are being captured.
/// In a host function: waiting throws `not_permitted`. Polling and awaiting are allowed, since they
/// make no driver call there.
/// Thread safety: all members may be called from any thread.
class WEIR_EXPORT completion {
 public:
  /// Creates a completion without work. It is done.
  constexpr completion() noexcept = default;

  /// Returns true if the work is done. Exceptions of host functions are not thrown here, but by
  /// wait().
  ///
  /// Throws: the error of the work.
  /// Cost: one load if the result is known.
  /// Driver: cuEventQuery if the result is not known.
  [[nodiscard]] bool done(call_site at = call_site::current()) const;

  /// Returns `success`, `not_ready`, or the error of the work. Never throws.
  ///
  /// Driver: cuEventQuery if the result is not known.
  [[nodiscard]] errc status() const noexcept;

  /// Blocks the calling thread until the work is done. The thread polls until its spin budget is
  /// used up, and then sleeps. On the embedded driver it runs queued work itself.
  ///
  /// Throws: the error of the work, else the exception of a host function of the stream since the
  /// last sync. `not_permitted` where weir/core/sync_guard.hpp forbids waits.
  /// Driver: cuEventQuery.
  void wait(call_site at = call_site::current()) const {
    static_cast<void>(wait_for_nanoseconds(detail::forever, at));
  }

  /// Like wait(), with a timeout. Returns false on timeout; the work continues. If the timeout is 0
  /// or negative, polls once.
  ///
  /// Throws: as wait().
  template <detail::duration_like Duration>
  [[nodiscard]] bool wait_for(const Duration& timeout, call_site at = call_site::current()) const {
    return wait_for_nanoseconds(detail::nanoseconds(timeout), at);
  }
  /// Like wait(), with a deadline. Returns false if the deadline passes first; the work continues.
  ///
  /// Throws: as wait().
  template <detail::time_point_like TimePoint>
  [[nodiscard]] bool wait_until(const TimePoint& deadline,
                                call_site at = call_site::current()) const {
    return wait_for_nanoseconds(detail::nanoseconds_until(deadline), at);
  }

  /// co_await c: suspends until the work is done. If it is done, the coroutine continues without
  /// suspending.
  ///
  /// Throws: as wait(), except `not_permitted`.
  [[nodiscard]] auto operator co_await() const& noexcept {
    return detail::completion_awaiter{*this};
  }
  /// Like the operator of an lvalue, for a temporary: co_await s.completion(). If the reactor
  /// thread already polls the stream for earlier work, does not query the driver before it
  /// suspends.
  ///
  /// Throws: as wait(), except `not_permitted`.
  [[nodiscard]] auto operator co_await() const&& noexcept {
    return detail::completion_awaiter{*this, detail::query_policy::skip_if_polled};
  }

  /// co_await c.outcome(): suspends until the work is done, and returns `success` or the error of
  /// the work as an errc. Does not throw that error. The next sync() of the stream throws an
  /// exception of a host function.
  [[nodiscard]] auto outcome() const noexcept {
    return detail::awaitable_of<detail::outcome_awaiter, completion>{*this};
  }

  /// co_await c.resume_on(executor): like co_await c, but resumes on the executor. If the work is
  /// done already, the coroutine continues on the calling thread. co_await moves the executor into
  /// the coroutine's frame, or copies it if the awaitable is an lvalue.
  template <executor E>
  [[nodiscard]] auto resume_on(E target, call_site at = call_site::current()) const noexcept {
    return detail::awaitable_of<detail::executor_awaiter<E>, completion, E, call_site>{
        *this, std::move(target), at};
  }

  /// co_await c.within(5ms): suspends until the work is done or `timeout` has passed since the
  /// await. Returns false on timeout; the work continues. To end a wait on request use stop_when()
  /// (weir/completion/stop.hpp).
  ///
  /// Throws: as wait(), except `not_permitted`.
  template <detail::duration_like Duration>
  [[nodiscard]] auto within(const Duration& timeout, call_site at = call_site::current()) const {
    return detail::awaitable_of<detail::timed_awaiter, completion, long long, call_site>{
        *this, detail::nanoseconds(timeout), at};
  }
  /// co_await c.until(deadline): like within(), with a point in time.
  ///
  /// Throws: as wait(), except `not_permitted`.
  template <detail::time_point_like TimePoint>
  [[nodiscard]] auto until(const TimePoint& deadline, call_site at = call_site::current()) const {
    using awaiter_type = detail::deadline_awaiter<detail::timed_awaiter, TimePoint>;
    return detail::awaitable_of<awaiter_type, completion, TimePoint, call_site>{*this, deadline,
                                                                                at};
  }

  /// Calls f(errc), or f() if it takes no argument, when the work is done or has failed. The call
  /// is made on a reactor thread, or in completion_poller::poll() of a thread that polls, never
  /// inside this call. Exceptions of `f` go to set_unhandled_error_handler.
  ///
  /// Throws: std::bad_alloc, or std::system_error if starting a thread fails; `f` is not called
  /// then.
  template <class F>
  void then(F f) const {
    then(detail::inline_executor{}, std::move(f));
  }
  /// Like then(f), but the thread on which then(f) would call `f` passes the call to the executor
  /// instead.
  ///
  /// Throws: as then(f).
  template <executor E, class F>
  requires std::invocable<F, errc> || std::invocable<F>
  void then(E target, F f) const {
    auto call =
        std::make_unique<detail::completion_callback<F, E>>(std::move(f), std::move(target));
    call->on_complete = &detail::completion_callback<F, E>::handle_completion;
    call->start(*this);
    static_cast<void>(call.release());
  }

  /// Returns true if both stand for one point of one stream, or both are default-constructed.
  friend bool operator==(const completion&, const completion&) noexcept = default;

 private:
  friend class detail::completion_awaiter;
  friend class detail::completion_access;
  constexpr completion(detail::completion_queue* queue, unsigned long long ticket) noexcept
      : queue_{queue}, ticket_{ticket} {}
  [[nodiscard]] bool wait_for_nanoseconds(long long timeout, call_site at) const;

  detail::completion_queue* queue_ = nullptr;  ///< null for a completion without work
  unsigned long long ticket_ = 0;              ///< number of the point in the queue
};

static_assert(std::is_trivially_copyable_v<completion> && sizeof(completion) == 2 * sizeof(void*));

}  // namespace weir
