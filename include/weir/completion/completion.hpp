// weir/completion/completion.hpp - the end of work that a stream was given: asked for, waited for,
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

// A point in a stream's work: all that the stream had been given when it was asked for. It always
// resolves: with success, with what the work failed with, or with what has become of its context;
// also when the stream is gone. It may be asked, waited for and awaited any number of times, by any
// number of threads and coroutines, and always gives the same answer. To drop it cancels nothing
// and blocks nothing. It is two words and owns nothing; copying is free.
//
// A coroutine resumes about 4 us after the end of the work on an H200, and the stream does not
// notice: neither a host function nor a callback is involved. It resumes on the thread that began
// the await, if that is in sync_wait(), else on one of the reactor's (weir/completion/reactor.hpp),
// or where on() says.
//
// An await of any kind that has to suspend may throw std::bad_alloc, and the first one
// std::system_error where no thread can be begun: on the spot, with the coroutine not suspended.
//
// Thread safety: any operation from any thread. In a host function: waiting is refused
// (not_permitted), asking and awaiting are allowed, as they make no call of the driver there. In
// captures of other streams: allowed. In the child of a fork: not_initialized, whatever was known,
// but for those of nothing.
class WEIR_EXPORT completion {
 public:
  // Of nothing: done.
  constexpr completion() noexcept = default;

  // Is the work done? Throws what it failed with; what a host function has thrown is left to who
  // waits. One load if that is known; else cuEventQuery.
  [[nodiscard]] bool done(call_site at = call_site::current()) const;

  // The same as a code: success, not_ready, or what the work failed with.
  [[nodiscard]] errc status() const noexcept;

  // Blocks the calling thread until then. Throws what the work failed with; else what a host
  // function of the stream has thrown since the last sync. The thread asks again and again while
  // that pays, and then sleeps. On the embedded driver it runs what there is to run. Where
  // weir/core/sync_guard.hpp forbids waits: refused (not_permitted). cuEventQuery.
  void wait(call_site at = call_site::current()) const {
    static_cast<void>(wait_for_nanoseconds(detail::forever, at));
  }

  // The same with an end: false if the time passed first. The work goes on. Without time left it
  // only looks.
  template <detail::duration_like Duration>
  [[nodiscard]] bool wait_for(const Duration& timeout, call_site at = call_site::current()) const {
    return wait_for_nanoseconds(detail::nanoseconds(timeout), at);
  }
  template <detail::time_point_like TimePoint>
  [[nodiscard]] bool wait_until(const TimePoint& deadline,
                                call_site at = call_site::current()) const {
    return wait_for_nanoseconds(detail::nanoseconds_until(deadline), at);
  }

  // co_await c: until the work is done; throws as wait() does. What is done goes on at once; of a
  // temporary, as in co_await s.completion(), the driver is not asked where the reactor's thread
  // looks after others who wait for earlier work of the stream.
  [[nodiscard]] auto operator co_await() const& noexcept {
    return detail::completion_awaiter{*this};
  }
  [[nodiscard]] auto operator co_await() const&& noexcept {
    return detail::completion_awaiter{*this, detail::query_policy::skip_if_polled};
  }

  // co_await c.outcome(): the same as a code, thrown nowhere: success, or what the work failed
  // with.
  [[nodiscard]] auto outcome() const noexcept {
    return detail::awaitable_of<detail::outcome_awaiter, completion>{*this};
  }

  // co_await c.on(executor): resumes where the executor says. If there is nothing to wait for, it
  // goes on where it is. The executor is moved into the coroutine's frame, and out of it to be
  // called; of a value that is kept and awaited it is copied.
  template <executor E>
  [[nodiscard]] auto on(E to, call_site at = call_site::current()) const noexcept {
    return detail::awaitable_of<detail::executor_awaiter<E>, completion, E, call_site>{
        *this, std::move(to), at};
  }

  // co_await c.within(5ms), c.by(deadline): bool; false if the time passed first. That ends the
  // wait, and not the work. Throws as wait() does. A duration counts from the await. For an end on
  // request there is stop_when() (weir/completion/stop.hpp).
  template <detail::duration_like Duration>
  [[nodiscard]] auto within(const Duration& timeout, call_site at = call_site::current()) const {
    return detail::awaitable_of<detail::timed_awaiter, completion, long long, call_site>{
        *this, detail::nanoseconds(timeout), at};
  }
  template <detail::time_point_like TimePoint>
  [[nodiscard]] auto by(const TimePoint& deadline, call_site at = call_site::current()) const {
    using awaiter_type = detail::deadline_awaiter<detail::timed_awaiter, TimePoint>;
    return detail::awaitable_of<awaiter_type, completion, TimePoint, call_site>{*this, deadline,
                                                                                at};
  }

  // Calls f(errc), or f() if it takes none, when the work is done or has failed: on a thread of the
  // reactor's, or where the executor says; never inside of this call, unless the executor does
  // that. What it throws goes to set_unhandled_error_handler. Throws only if there is no memory or
  // no thread, and then does nothing.
  template <class F>
  void then(F f) const {
    then(detail::inline_executor{}, std::move(f));
  }
  template <executor E, class F>
  requires std::invocable<F, errc> || std::invocable<F>
  void then(E to, F f) const {
    auto call = std::make_unique<detail::completion_callback<F, E>>(std::move(f), std::move(to));
    call->on_complete = &detail::completion_callback<F, E>::handle_completion;
    call->start(*this);
    static_cast<void>(call.release());
  }

  friend bool operator==(const completion&, const completion&) noexcept = default;

 private:
  friend class detail::completion_awaiter;
  friend class detail::completion_access;
  constexpr completion(detail::completion_queue* queue, unsigned long long ticket) noexcept
      : queue_{queue}, ticket_{ticket} {}
  [[nodiscard]] bool wait_for_nanoseconds(long long timeout, call_site at) const;

  detail::completion_queue* queue_ = nullptr;  // null: of nothing
  unsigned long long ticket_ = 0;
};

static_assert(std::is_trivially_copyable_v<completion> && sizeof(completion) == 2 * sizeof(void*));

}  // namespace weir
