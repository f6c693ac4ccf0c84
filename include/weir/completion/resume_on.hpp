// weir/completion/resume_on.hpp - a coroutine goes on where an executor says.
#pragma once

#include <weir/completion/executor.hpp>
#include <weir/detail/awaitable_of.hpp>

#include <coroutine>
#include <utility>

namespace weir {
namespace detail {

template <executor E>
class executor_awaitable {
 public:
  explicit executor_awaitable(E to) : to_{std::move(to)} {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  // The coroutine may go on, and end this awaiter, before the executor has returned. Inlined, clang
  // 14 would put what is needed still into the coroutine's frame.
  [[gnu::noinline]] void await_suspend(std::coroutine_handle<> awaiting) noexcept {
    E to = std::move(to_);
    execute_on(to, continuation{[](void* frame) noexcept {
                                  std::coroutine_handle<>::from_address(frame).resume();
                                },
                                awaiting.address()});
  }
  void await_resume() const noexcept {}

 private:
  E to_;
};

}  // namespace detail

// co_await resume_on(executor): the coroutine goes on where the executor says, always; on this
// thread if that throws when it is called. It has nothing to do with a stream, and makes no call of
// the driver, so it may be anywhere. It is for what comes up to the next await that suspends: from
// that the coroutine goes on as from any, for a completion on a thread of the reactor's if the
// pool's is not in sync_wait() itself, also where another thread is in sync_wait() for the whole.
// c.on(executor) stays there.
template <executor E>
[[nodiscard]] auto resume_on(E to) {
  return detail::awaitable_of<detail::executor_awaitable<E>, E>{std::move(to)};
}

}  // namespace weir
