// SPDX-License-Identifier: Apache-2.0
// weir/detail/callback_coroutine.hpp - a callback in the form of a coroutine handle.
#pragma once

#include <coroutine>
#include <utility>

namespace weir::detail {

/// A coroutine that calls function(argument) once, when it is resumed. The call may destroy this
/// object: the coroutine calls the function as its last act, and then accesses no member.
class callback_coroutine {
 public:
  callback_coroutine(void (*function)(void*) noexcept, void* argument)
      : frame_{make({function, argument})} {}
  callback_coroutine(callback_coroutine&& other) noexcept
      : frame_{std::exchange(other.frame_, {})} {}
  callback_coroutine& operator=(callback_coroutine&&) = delete;
  ~callback_coroutine() {
    if (frame_) frame_.destroy();
  }

  [[nodiscard]] std::coroutine_handle<> handle() const noexcept { return frame_; }

 private:
  struct callback_target {
    void (*function)(void*) noexcept;
    void* argument;
  };

  struct frame {
    struct promise_type {
      frame get_return_object() noexcept {
        return {std::coroutine_handle<promise_type>::from_promise(*this)};
      }
      std::suspend_always initial_suspend() const noexcept { return {}; }
      auto final_suspend() const noexcept {
        struct final_awaiter {
          bool await_ready() const noexcept { return false; }
          [[gnu::noinline]] void await_suspend(std::coroutine_handle<>) const noexcept {
            callback.function(callback.argument);
          }
          void await_resume() const noexcept {}
          callback_target callback;
        };
        return final_awaiter{callback};
      }
      void return_void() const noexcept {}
      void unhandled_exception() const noexcept {}
      callback_target callback{};
    };
    std::coroutine_handle<promise_type> handle;
  };

  static frame body() { co_return; }
  static std::coroutine_handle<> make(callback_target callback) {
    const frame coroutine = body();
    coroutine.handle.promise().callback = callback;
    return coroutine.handle;
  }

  std::coroutine_handle<> frame_;
};

}  // namespace weir::detail
