// SPDX-License-Identifier: Apache-2.0
// weir/completion/task.hpp - a coroutine type that returns a value, for programs without one of
// their own.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>

#include <atomic>
#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace weir {

template <class T = void>
class task;

namespace detail {

/// Throws `closed` because the task was moved from or awaited before.
[[noreturn]] WEIR_EXPORT void throw_used_task();

/// The part of a task's promise that does not depend on the result type.
///
/// A task that never suspends ends while it is being started, and the awaiting coroutine continues
/// without having suspended. Otherwise the task resumes the awaiting coroutine at its end. Neither
/// way uses symmetric transfer. The stack does not grow with the number of tasks that a coroutine
/// awaits one after the other, even without optimisation. Tasks that await tasks use the stack like
/// nested function calls.
class task_promise_base {
 public:
  std::suspend_always initial_suspend() const noexcept { return {}; }

  auto final_suspend() const noexcept {
    struct final_awaiter {
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<>) const noexcept { promise->finish_and_resume(); }
      void await_resume() const noexcept {}
      const task_promise_base* promise;
    };
    return final_awaiter{this};
  }

  void unhandled_exception() noexcept { failure_ = std::current_exception(); }

  void throw_if_started() const {
    if (awaiting_) throw_used_task();
  }

  /// Starts the task. Returns false if the task has already ended; otherwise the end of the task
  /// resumes `awaiting`. Not inlined, like finish_and_resume(): clang 14 would otherwise keep
  /// variables of this function in a coroutine frame that may be destroyed by then.
  [[nodiscard, gnu::noinline]] bool start(std::coroutine_handle<> self,
                                          std::coroutine_handle<> awaiting) {
    throw_if_started();
    awaiting_ = awaiting;
    self.resume();
    return !second_arrival_.exchange(true, std::memory_order_acq_rel);
  }

 protected:
  void throw_failure() {
    if (failure_) std::rethrow_exception(std::move(failure_));
  }

 private:
  /// Called at the end of the task. Resumes the awaiting coroutine if start() has already set
  /// second_arrival_. Otherwise resumes nothing, and start() will return false. When this function
  /// returns, the frame of the task may have been destroyed.
  [[gnu::noinline]] void finish_and_resume() const noexcept {
    const std::coroutine_handle<> awaiting = awaiting_;
    if (second_arrival_.exchange(true, std::memory_order_acq_rel)) awaiting.resume();
  }

  std::coroutine_handle<> awaiting_;  ///< null until the task is started
  /// Set by start() and by finish_and_resume(), which may run on two threads. The first of them to
  /// set it reads false; the second reads true and lets the awaiting coroutine continue.
  mutable std::atomic<bool> second_arrival_{false};
  std::exception_ptr failure_;  ///< the exception that ended the task; null if none did
};

template <class T>
class task_promise : public task_promise_base {
 public:
  task<T> get_return_object() noexcept;
  template <class U = T>
  requires std::is_convertible_v<U&&, T>
  void return_value(U&& value) {
    if constexpr (std::is_reference_v<T>) {
      static_assert(std::is_lvalue_reference_v<U> || std::is_rvalue_reference_v<T>,
                    "it would refer to what is gone");
      value_ = std::addressof(value);
    } else {
      value_.emplace(std::forward<U>(value));
    }
  }
  T take_result() {
    throw_failure();
    if constexpr (std::is_reference_v<T>) {
      return static_cast<T>(*value_);
    } else {
      return std::move(*value_);
    }
  }

 private:
  std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T>*, std::optional<T>>
      value_{};
};

template <>
class task_promise<void> : public task_promise_base {
 public:
  task<void> get_return_object() noexcept;
  void return_void() const noexcept {}
  void take_result() { throw_failure(); }
};

}  // namespace detail

/// A coroutine that starts when it is awaited, and returns its result or throws its exception to
/// the awaiting coroutine:
///
///   weir::task<float> norm(weir::stream_ref s, weir::buffer<float>& x) {
///     ...  // queue work
///     co_await s.completion();
///     co_return sum;
///   }
///   float n = weir::sync_wait(norm(s, x));  // or, in another coroutine: co_await norm(s, x)
///
/// Await a task once, as an rvalue. A task that is not awaited does nothing. A task runs on the
/// thread that awaits it; after each suspension it continues on the thread that resumes it. The
/// awaiting coroutine continues on the thread on which the task ends. T may be a reference.
/// Move-only; owns its frame. Do not destroy a task that is suspended; to end it early, pass it a
/// std::stop_token (weir/completion/stop.hpp).
///
/// Thread safety: needs exclusive access.
template <class T>
class [[nodiscard]] task {
 public:
  using promise_type = detail::task_promise<T>;

  task(task&& other) noexcept : frame_{std::exchange(other.frame_, {})} {}
  task& operator=(task&& other) noexcept {
    task old{std::move(*this)};
    frame_ = std::exchange(other.frame_, {});
    return *this;
  }
  ~task() {
    if (frame_) frame_.destroy();
  }

  /// co_await std::move(t): starts the task and returns its result.
  ///
  /// Throws: what the task throws; `closed` if the task was moved from or awaited before.
  [[nodiscard]] auto operator co_await() && {
    struct awaiter {
      bool await_ready() const noexcept { return false; }
      bool await_suspend(std::coroutine_handle<> awaiting) const {
        return frame.promise().start(frame, awaiting);
      }
      T await_resume() const { return frame.promise().take_result(); }
      std::coroutine_handle<promise_type> frame;
    };
    if (!frame_) detail::throw_used_task();
    return awaiter{frame_};
  }

 private:
  friend promise_type;
  explicit task(std::coroutine_handle<promise_type> frame) noexcept : frame_{frame} {}

  std::coroutine_handle<promise_type> frame_;
};

namespace detail {
/// Named in the compiler's message for `co_await t` of a named task.
struct write_co_await_std_move_of_the_task {};
}  // namespace detail

/// A task is awaited as an rvalue: co_await std::move(t).
template <class T>
detail::write_co_await_std_move_of_the_task operator co_await(const task<T>&) = delete;

template <class T>
task<T> detail::task_promise<T>::get_return_object() noexcept {
  return task<T>{std::coroutine_handle<task_promise>::from_promise(*this)};
}

inline task<void> detail::task_promise<void>::get_return_object() noexcept {
  return task<void>{std::coroutine_handle<task_promise>::from_promise(*this)};
}

}  // namespace weir
