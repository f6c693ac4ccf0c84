// weir/completion/task.hpp - a coroutine that gives a value, for programs that have no type of
// their own for that.
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

// Throws closed: it was moved from, or awaited before.
[[noreturn]] WEIR_EXPORT void throw_used_task();

// A task that never suspends ends while it is being started, and whoever awaits it goes on where it
// is; else the task resumes it. Either way the stack is no deeper afterwards, also without
// optimisation. Tasks that await tasks take stack as functions that call functions do.
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

  void throw_if_started() const {
    if (awaiting_) throw_used_task();
  }

  // False if it is over already; else `awaiting` is resumed when it is. Neither this nor the end is
  // inlined: clang 14 would put what is needed still into a frame that may be gone.
  [[nodiscard, gnu::noinline]] bool start(std::coroutine_handle<> self,
                                          std::coroutine_handle<> awaiting) {
    throw_if_started();
    awaiting_ = awaiting;
    self.resume();
    return !second_arrival_.exchange(true, std::memory_order_acq_rel);
  }

 private:
  // Whoever comes second goes on. The frame may be gone afterwards.
  [[gnu::noinline]] void finish_and_resume() const noexcept {
    const std::coroutine_handle<> awaiting = awaiting_;
    if (second_arrival_.exchange(true, std::memory_order_acq_rel)) awaiting.resume();
  }

  std::coroutine_handle<> awaiting_;
  mutable std::atomic<bool> second_arrival_{false};
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
  void unhandled_exception() noexcept { failure_ = std::current_exception(); }
  T take() {
    if (failure_) std::rethrow_exception(std::move(failure_));
    if constexpr (std::is_reference_v<T>) {
      return static_cast<T>(*value_);
    } else {
      return std::move(*value_);
    }
  }

 private:
  std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T>*, std::optional<T>>
      value_{};
  std::exception_ptr failure_;
};

template <>
class task_promise<void> : public task_promise_base {
 public:
  task<void> get_return_object() noexcept;
  void return_void() const noexcept {}
  void unhandled_exception() noexcept { failure_ = std::current_exception(); }
  void take() {
    if (failure_) std::rethrow_exception(std::move(failure_));
  }

 private:
  std::exception_ptr failure_;
};

}  // namespace detail

// A coroutine that begins when it is awaited, and gives what it returns, or throws what it throws,
// to whoever awaits it:
//
//   weir::task<float> norm(weir::stream_ref s, weir::buffer<float>& x) {
//     ...                          // queue work
//     co_await s.completion();
//     co_return sum;
//   }
//   float n = weir::sync_wait(norm(s, x));      // or, in another coroutine: co_await norm(s, x)
//
// It is awaited once, as an rvalue; one that never is does nothing. It goes on wherever what it
// awaits resumes it, and so does whoever awaits it. T may be a reference. Move-only; owns its
// frame. Destroy none that is suspended half way: to have it end early, give it a std::stop_token
// (weir/completion/stop.hpp). Thread safety: as any object.
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

  // Throws closed if it was moved from, or was awaited before.
  [[nodiscard]] auto operator co_await() && {
    struct awaiter {
      bool await_ready() const noexcept { return false; }
      bool await_suspend(std::coroutine_handle<> awaiting) const {
        return frame.promise().start(frame, awaiting);
      }
      T await_resume() const { return frame.promise().take(); }
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

template <class T>
task<T> detail::task_promise<T>::get_return_object() noexcept {
  return task<T>{std::coroutine_handle<task_promise>::from_promise(*this)};
}

inline task<void> detail::task_promise<void>::get_return_object() noexcept {
  return task<void>{std::coroutine_handle<task_promise>::from_promise(*this)};
}

}  // namespace weir
