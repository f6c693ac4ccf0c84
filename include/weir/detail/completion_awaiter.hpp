// SPDX-License-Identifier: Apache-2.0
// weir/detail/completion_awaiter.hpp - awaiters and callbacks for completions.
#pragma once

#include <weir/completion/executor.hpp>
#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>
#include <weir/detail/completion_waiter.hpp>
#include <weir/detail/composite_wait.hpp>
#include <weir/detail/export.hpp>

#include <concepts>
#include <coroutine>
#include <memory>
#include <type_traits>
#include <utility>

namespace weir {

class completion;

namespace detail {

/// Says whether await_ready() queries the driver. `always`: it queries whenever the outcome is not
/// known. `skip_if_polled`: it does not query while the reactor polls the stream for this or an
/// earlier completion, since the query would cost more than the rest of the await. Use
/// `skip_if_polled` only for a completion that was just created. The work of an older completion
/// may have finished already, and the caller then expects to continue at once.
enum class query_policy : unsigned char { always, skip_if_polled };

/// Suspends a coroutine until a completion has completed. The object is part of the coroutine's
/// frame, so it is small.
class WEIR_EXPORT completion_awaiter : protected completion_waiter {
 public:
  explicit completion_awaiter(const completion& awaited,
                              query_policy query = query_policy::always) noexcept;
  completion_awaiter(const completion_awaiter&) = delete;
  completion_awaiter& operator=(const completion_awaiter&) = delete;

  [[nodiscard]] bool await_ready() noexcept;
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> awaiting) {
    return suspend(awaiting, &resume, resume_policy::waiting_thread);
  }
  /// Throws the error of failed work, or the exception of a host function of the stream.
  void await_resume() const { throw_failure({}); }

 protected:
  using completion_function = void (*)(completion_waiter& self, errc outcome) noexcept;
  /// Registers this object as a waiter. Returns false if the completion has completed already.
  [[nodiscard]] bool suspend(std::coroutine_handle<> awaiting, completion_function on_complete,
                             resume_policy policy);
  [[nodiscard]] errc status() const noexcept { return outcome; }
  /// Throws the error of failed work, or the exception of a host function of the stream, if any.
  void throw_failure(call_site at) const;
  static completion_awaiter& awaiter_of(completion_waiter& self) noexcept {
    return static_cast<completion_awaiter&>(self);
  }
  static void resume(completion_waiter& self, errc outcome) noexcept;

  std::coroutine_handle<> awaiting_;

 private:
  completion_queue* queue_;  ///< null for a completion without work
  query_policy query_policy_;
};

static_assert(sizeof(completion_awaiter) <= 10 * sizeof(void*));

/// Like completion_awaiter, but co_await returns the outcome as an errc and throws nothing.
struct outcome_awaiter : completion_awaiter {
  using completion_awaiter::completion_awaiter;
  [[nodiscard]] errc await_resume() const noexcept { return status(); }
};

/// Like completion_awaiter, but resumes the coroutine on an executor.
template <executor E>
class executor_awaiter : public completion_awaiter {
 public:
  executor_awaiter(const completion& awaited, E target, call_site at) noexcept
      : completion_awaiter{awaited}, target_{std::move(target)}, at_{at} {}
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> awaiting) {
    return suspend(awaiting, &resume_on_executor, resume_policy::user_code_thread);
  }
  void await_resume() const { throw_failure(at_); }

 private:
  /// Copies what it needs from the awaiter first: the coroutine may continue, and destroy the
  /// awaiter, before the executor has returned.
  static void resume_on_executor(completion_waiter& self, errc) noexcept {
    auto& awaiter = static_cast<executor_awaiter&>(awaiter_of(self));
    const std::coroutine_handle<> awaiting = awaiter.awaiting_;
    E target = std::move(awaiter.target_);
    execute_on(target, resumption_of(awaiting));
  }

  E target_;
  call_site at_;
};

/// Like completion_awaiter, with a timeout. Returns true if the work has finished in time.
class WEIR_EXPORT timed_awaiter : public composite_wait {
 public:
  timed_awaiter(const completion& awaited, long long nanoseconds, call_site at) noexcept;

  [[nodiscard]] bool await_ready() noexcept { return try_complete({&item_, 1}); }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> awaiting) {
    return start({&item_, 1}, awaiting);
  }
  bool await_resume() const;

 private:
  wait_item item_;
  call_site at_;
};

/// A function object that is called when a completion has completed; it destroys itself.
struct completion_callback_base : completion_waiter {
  /// Starts the wait, or posts the callback to a reactor thread at once if there is nothing to wait
  /// for. If start() throws, the function object will not be called, and the caller destroys it.
  WEIR_EXPORT void start(const completion& awaited);
  /// Passes the current exception to the unhandled-error handler. Called in a catch block.
  WEIR_EXPORT static void report_exception() noexcept;
};

/// Calls the function object `f` on the executor `target`.
template <class F, class E>
struct completion_callback final : completion_callback_base {
  completion_callback(F&& callable, E&& executor)
      : f(std::move(callable)), target(std::move(executor)) {}

  static void handle_completion(completion_waiter& self, errc) noexcept {
    auto& callback = static_cast<completion_callback&>(self);
    E target = std::move(callback.target);
    execute_on(target, continuation{[](void* call) noexcept {
                                      static_cast<completion_callback*>(call)->run();
                                    },
                                    &callback});
  }

  void run() noexcept {
    const std::unique_ptr<completion_callback> owner{this};
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
  E target;
};

}  // namespace detail

}  // namespace weir
