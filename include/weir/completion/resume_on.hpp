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
  /// function were inlined, clang 14 would keep variables of this function in the coroutine's
  /// frame, which may be destroyed by then.
  [[gnu::noinline]] void await_suspend(std::coroutine_handle<> awaiting) noexcept {
    E target = std::move(target_);
    execute_on(target, resumption_of(awaiting));
  }
  void await_resume() const noexcept {}

 private:
  E target_;
};

}  // namespace detail

/// co_await resume_on(executor): always suspends the coroutine and resumes it on the executor. If
/// the executor throws, the coroutine continues on the calling thread.
///
/// This await calls no driver function and is allowed everywhere. It determines the thread only up
/// to the next await that suspends. If the coroutine then awaits a completion `c`, it resumes on a
/// reactor thread unless the executor's thread is itself in sync_wait(). A thread that is in
/// sync_wait() for the whole coroutine does not resume it. To stay on the executor, await
/// c.resume_on(executor).
template <executor E>
[[nodiscard]] auto resume_on(E target) {
  return detail::awaitable_of<detail::executor_awaitable<E>, E>{std::move(target)};
}

}  // namespace weir
