// SPDX-License-Identifier: Apache-2.0
// weir/completion/resume_on.hpp - continues a coroutine on an executor.
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
  explicit executor_awaitable(E target) : target_{std::move(target)} {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  /// The coroutine may resume, and destroy this awaiter, before the executor returns. If this
  /// function were inlined, clang 14 would place values that are still needed into the coroutine's
  /// frame.
  [[gnu::noinline]] void await_suspend(std::coroutine_handle<> awaiting) noexcept {
    E target = std::move(target_);
    execute_on(target, continuation{[](void* frame) noexcept {
                                      std::coroutine_handle<>::from_address(frame).resume();
                                    },
                                    awaiting.address()});
  }
  void await_resume() const noexcept {}

 private:
  E target_;
};

}  // namespace detail

/// co_await resume_on(executor): continues the coroutine on the executor, always. If the executor
/// throws, the coroutine continues on this thread.
///
/// It calls no driver function and is allowed everywhere. It determines the thread only up to the
/// next await that suspends. After awaiting a completion, the coroutine resumes on a reactor thread
/// unless the executor's thread is itself in sync_wait(). This holds even if another thread is in
/// sync_wait() for the whole coroutine. To stay on the executor, use c.resume_on(executor).
template <executor E>
[[nodiscard]] auto resume_on(E target) {
  return detail::awaitable_of<detail::executor_awaitable<E>, E>{std::move(target)};
}

}  // namespace weir
