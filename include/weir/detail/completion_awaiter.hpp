// weir/detail/completion_awaiter.hpp - coroutines, and function objects, that wait for a completion.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/completion_waiter.hpp>
#include <weir/core/errc.hpp>
#include <weir/completion/executor.hpp>
#include <weir/detail/export.hpp>
#include <weir/detail/joint_wait.hpp>

#include <concepts>
#include <coroutine>
#include <memory>
#include <type_traits>
#include <utility>

namespace weir {

class completion;

namespace detail {

// Whether who awaits may rely on it that what is known to be done, by means that weir has no part in, goes on at once. Not of a
// temporary, which has mostly just been made.
enum class freshness : unsigned char { any, just_made };

// Suspends a coroutine until a completion is settled. It is part of the coroutine's frame, so it is kept small.
class WEIR_EXPORT completion_awaiter : protected completion_waiter {
 public:
  explicit completion_awaiter(const completion& awaited, freshness is = freshness::any) noexcept;
  completion_awaiter(const completion_awaiter&) = delete;
  completion_awaiter& operator=(const completion_awaiter&) = delete;

  [[nodiscard]] bool await_ready() noexcept;
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> awaiting) {
    return suspend(awaiting, &resume, teller::loop);
  }
  // Throws what the work failed with, or what a host function of the stream has thrown.
  void await_resume() const { throw_failure({}); }

 protected:
  using told_function = void (*)(completion_waiter& self, errc outcome) noexcept;
  [[nodiscard]] bool suspend(std::coroutine_handle<> awaiting, told_function told, teller by);
  [[nodiscard]] errc settled() const noexcept { return outcome; }
  void throw_failure(call_site at) const;
  static completion_awaiter& of(completion_waiter& self) noexcept { return static_cast<completion_awaiter&>(self); }
  static void resume(completion_waiter& self, errc outcome) noexcept;

  std::coroutine_handle<> awaiting_;

 private:
  lane* where_;
  freshness is_;
};

static_assert(sizeof(completion_awaiter) <= 10 * sizeof(void*));

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
      : completion_awaiter{awaited}, to_{std::move(to)}, at_{at} {}
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> awaiting) {
    return suspend(awaiting, &hand_on, teller::own);
  }
  void await_resume() const { throw_failure(at_); }

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
  call_site at_;
};

// The same with an end; gives whether the work was done by then.
class WEIR_EXPORT limited_awaiter : public joint_wait {
 public:
  limited_awaiter(const completion& awaited, long long nanoseconds, call_site at) noexcept;

  [[nodiscard]] bool await_ready() noexcept { return over_already({&point_, 1}); }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> awaiting) { return begin({&point_, 1}, awaiting); }
  bool await_resume() const;

 private:
  joint_point point_;
  call_site at_;
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

}  // namespace weir
