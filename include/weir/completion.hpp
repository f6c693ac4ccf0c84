// weir/completion.hpp - the end of work that a stream was given: asked for, waited for, awaited.
#pragma once

#include <weir/call_site.hpp>
#include <weir/completion_waiter.hpp>
#include <weir/duration.hpp>
#include <weir/errc.hpp>
#include <weir/executor.hpp>
#include <weir/export.hpp>

#include <concepts>
#include <coroutine>
#include <memory>
#include <type_traits>
#include <utility>

namespace weir {

class completion;

namespace detail {

class completion_access;

// Suspends a coroutine until a completion is settled.
class WEIR_EXPORT completion_awaiter : protected completion_waiter {
 public:
  completion_awaiter(const completion& awaited, call_site at) noexcept;
  completion_awaiter(const completion_awaiter&) = delete;
  completion_awaiter& operator=(const completion_awaiter&) = delete;

  [[nodiscard]] bool await_ready() noexcept;
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> awaiting) {
    return suspend(awaiting, &resume, teller::loop);
  }
  // Throws what the work failed with, or what a host function of the stream has thrown.
  void await_resume() const;

 protected:
  using told_function = void (*)(completion_waiter& self, errc outcome) noexcept;
  [[nodiscard]] bool suspend(std::coroutine_handle<> awaiting, told_function told, teller by);
  [[nodiscard]] errc settled() const noexcept { return outcome; }
  static completion_awaiter& of(completion_waiter& self) noexcept { return static_cast<completion_awaiter&>(self); }
  static void resume(completion_waiter& self, errc outcome) noexcept;

  std::coroutine_handle<> awaiting_;

 private:
  lane* where_;
  unsigned long long ticket_;
  call_site at_;
};

// The same; gives the code and throws nothing.
struct outcome_awaiter : completion_awaiter {
  using completion_awaiter::completion_awaiter;
  [[nodiscard]] errc await_resume() const noexcept { return settled(); }
};

// The same, resuming where an executor says.
template <executor E>
class executor_awaiter : public completion_awaiter {
 public:
  executor_awaiter(const completion& awaited, E to, call_site at) noexcept
      : completion_awaiter{awaited, at}, to_{std::move(to)} {}
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> awaiting) {
    return suspend(awaiting, &hand_on, teller::own);
  }

 private:
  // The coroutine may go on, and end this awaiter, before the executor has returned.
  static void hand_on(completion_waiter& self, errc) noexcept {
    auto& me = static_cast<executor_awaiter&>(of(self));
    const std::coroutine_handle<> awaiting = me.awaiting_;
    E to = std::move(me.to_);
    give(to, continuation{[](void* frame) noexcept { std::coroutine_handle<>::from_address(frame).resume(); },
                          awaiting.address()});
  }

  E to_;
};

// A function object that is called when a completion is settled, and ends itself.
struct completion_call : completion_waiter {
  // Waits; or, if there is nothing to wait for, has it told now. Throws with nothing done.
  WEIR_EXPORT void begin(const completion& after);
  // What the function has thrown, for the hook.
  WEIR_EXPORT static void report_exception() noexcept;
};

template <class F, class E>
struct call_when_done final : completion_call {
  call_when_done(F&& function, E&& executor) : f(std::move(function)), to(std::move(executor)) {}

  static void be_told(completion_waiter& self, errc) noexcept {
    auto& me = static_cast<call_when_done&>(self);
    E to = std::move(me.to);
    give(to, continuation{[](void* call) noexcept { static_cast<call_when_done*>(call)->run(); }, &me});
  }

  void run() noexcept {
    const std::unique_ptr<call_when_done> ends{this};
    try {
      if constexpr (std::invocable<F, errc>) {
        std::move(f)(outcome);
      } else {
        std::move(f)();
      }
    } catch (...) {
      report_exception();
    }
  }

  F f;
  E to;
};

}  // namespace detail

// A point in a stream's work: all that the stream had been given when it was asked for. It always resolves: with success,
// with what the work failed with, or with what has become of its context; also when the stream is gone. It may be asked,
// waited for and awaited any number of times, by any number of threads and coroutines, and always gives the same answer.
// To drop it cancels nothing and blocks nothing. It is two words and owns nothing; copying is free.
//
// A coroutine resumes about 4 us after the end of the work on an H200, and the stream does not notice: neither a host
// function nor a callback is involved. It resumes on the thread that is in sync_wait() for it, else on one of the
// reactor's (weir/reactor.hpp), or where on() says.
//
// Thread safety: any operation from any thread. In a host function: waiting is refused (not_permitted), asking and
// awaiting are allowed, as they make no call of the driver there. In captures of other streams: allowed.
class WEIR_EXPORT completion {
 public:
  // Of nothing: done.
  constexpr completion() noexcept = default;

  // Is the work done? Throws what it failed with. One load if that is known; else cuEventQuery.
  [[nodiscard]] bool done(call_site at = call_site::current()) const;

  // The same as a code: success, not_ready, or what the work failed with.
  [[nodiscard]] errc status() const noexcept;

  // Blocks the calling thread until then. Throws what the work failed with; else what a host function of the stream has
  // thrown since the last sync. The thread asks again and again while that pays, and then sleeps. On the embedded driver it
  // runs what there is to run.
  void wait(call_site at = call_site::current()) const { static_cast<void>(wait_for_nanoseconds(detail::forever, at)); }

  // The same with an end: false if the time passed first. The work goes on.
  template <detail::duration_like Duration>
  [[nodiscard]] bool wait_for(const Duration& timeout, call_site at = call_site::current()) const {
    return wait_for_nanoseconds(detail::nanoseconds(timeout), at);
  }
  template <detail::time_point_like TimePoint>
  [[nodiscard]] bool wait_until(const TimePoint& deadline, call_site at = call_site::current()) const {
    return wait_for_nanoseconds(detail::nanoseconds_until(deadline), at);
  }

  // co_await c: until the work is done; throws as wait() does.
  [[nodiscard]] auto operator co_await() const noexcept { return detail::completion_awaiter{*this, call_site{}}; }

  // co_await c.outcome(): the same as a code, thrown nowhere: success, or what the work failed with.
  [[nodiscard]] auto outcome() const noexcept { return detail::outcome_awaiter{*this, call_site{}}; }

  // co_await c.on(executor): resumes where the executor says. If there is nothing to wait for, it goes on where it is.
  template <executor E>
  [[nodiscard]] auto on(E to, call_site at = call_site::current()) const noexcept {
    return detail::executor_awaiter<E>{*this, std::move(to), at};
  }

  // Calls f(errc), or f() if it takes none, when the work is done or has failed: on a thread of the reactor's, or where the
  // executor says; never inside of this call, unless the executor does that. What it throws goes to on_unraised_error.
  // Throws only if there is no memory or no thread, and then does nothing.
  template <class F>
  void then(F f) const {
    then(detail::inline_executor{}, std::move(f));
  }
  template <executor E, class F>
  requires std::invocable<F, errc> || std::invocable<F>
  void then(E to, F f) const {
    auto call = std::make_unique<detail::call_when_done<F, E>>(std::move(f), std::move(to));
    call->told = &detail::call_when_done<F, E>::be_told;
    call->begin(*this);
    static_cast<void>(call.release());
  }

  friend bool operator==(const completion&, const completion&) noexcept = default;

 private:
  friend class detail::completion_awaiter;
  friend class detail::completion_access;
  constexpr completion(detail::lane* where, unsigned long long ticket) noexcept : where_{where}, ticket_{ticket} {}
  [[nodiscard]] bool wait_for_nanoseconds(long long timeout, call_site at) const;

  detail::lane* where_ = nullptr;  // null: of nothing
  unsigned long long ticket_ = 0;
};

static_assert(std::is_trivially_copyable_v<completion> && sizeof(completion) == 2 * sizeof(void*));

}  // namespace weir
