// weir/detail/resumed_hook.hpp - a function in the shape of a coroutine that can be resumed.
#pragma once

#include <coroutine>
#include <utility>

namespace weir::detail {

// Calls call(with) when it is resumed, once. That may end the hook: nothing of it is touched afterwards.
class resumed_hook {
 public:
  resumed_hook(void (*call)(void*) noexcept, void* with) : frame_{make({call, with})} {}
  resumed_hook(resumed_hook&& other) noexcept : frame_{std::exchange(other.frame_, {})} {}
  resumed_hook& operator=(resumed_hook&&) = delete;
  ~resumed_hook() {
    if (frame_) frame_.destroy();
  }

  [[nodiscard]] std::coroutine_handle<> handle() const noexcept { return frame_; }

 private:
  struct target {
    void (*call)(void*) noexcept;
    void* with;
  };

  struct frame {
    struct promise_type {
      frame get_return_object() noexcept { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
      std::suspend_always initial_suspend() const noexcept { return {}; }
      auto final_suspend() const noexcept {
        struct ending {
          bool await_ready() const noexcept { return false; }
          [[gnu::noinline]] void await_suspend(std::coroutine_handle<>) const noexcept { to.call(to.with); }
          void await_resume() const noexcept {}
          target to;
        };
        return ending{to};
      }
      void return_void() const noexcept {}
      void unhandled_exception() const noexcept {}
      target to{};
    };
    std::coroutine_handle<promise_type> handle;
  };

  static frame body() { co_return; }
  static std::coroutine_handle<> make(target to) {
    const frame made = body();
    made.handle.promise().to = to;
    return made.handle;
  }

  std::coroutine_handle<> frame_;
};

}  // namespace weir::detail
