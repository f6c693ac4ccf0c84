// SPDX-License-Identifier: Apache-2.0
// weir/completion/sync_wait.hpp - blocks a thread until an awaitable has finished.
#pragma once

#include <weir/completion/awaitable.hpp>
#include <weir/completion/completion.hpp>
#include <weir/completion/task.hpp>
#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>
#include <weir/detail/callback_coroutine.hpp>
#include <weir/detail/completion_access.hpp>
#include <weir/detail/completion_waiter.hpp>
#include <weir/detail/export.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace weir {
namespace detail {

/// Makes the calling thread resume the coroutines that it waits for while the object exists.
class WEIR_EXPORT run_loop_scope {
 public:
  /// Throws: `not_permitted` in a host function and where weir/core/sync_guard.hpp forbids waits;
  /// std::bad_alloc.
  explicit run_loop_scope(call_site at);
  run_loop_scope(const run_loop_scope&) = delete;
  run_loop_scope& operator=(const run_loop_scope&) = delete;
  ~run_loop_scope();

  /// Resumes coroutines until finish() is called.
  void run() noexcept;
  /// Ends run(). May be called on any thread; this object may have been destroyed when it returns.
  void finish() noexcept;

 private:
  run_loop* loop_;
};

/// Returns true if the calling thread counts as a thread that polls a reactor
/// (weir/completion/reactor.hpp).
[[nodiscard]] WEIR_EXPORT bool polls_a_reactor() noexcept;

/// Returns a task that awaits awaited.outcome().
inline task<errc> outcome_of(completion awaited) { co_return co_await awaited.outcome(); }

/// A result type that a task can return: void, a reference or a movable type.
template <class T>
concept returnable = std::is_void_v<T> || std::is_reference_v<T> || std::move_constructible<T>;

/// Returns a task that awaits `awaited`, which must exist until the task has ended.
template <awaitable A>
task<await_result_t<A>> as_task(A&& awaited) {
  auto&& operand = awaiter_of(std::forward<A>(awaited));
  co_return co_await operand;
}

}  // namespace detail

/// Starts `awaited`, blocks the calling thread until it ends, and returns its result.
///
/// Meanwhile the calling thread resumes the coroutines that it waits for, so no other thread must
/// be woken. A coroutine that awaits only completions of weir runs on this thread from beginning to
/// end. sync_wait() may be called in a coroutine that is resumed in this way; the outer wait
/// continues when the inner one has ended.
/// On a reactor thread, or on a thread that polls a reactor, sync_wait() also resumes other
/// coroutines, since no other thread would. Do not hold a lock there that these coroutines need.
/// completion::wait() resumes no coroutine.
/// The result is moved to the caller. If the move throws, the result is lost. future::get() instead
/// leaves the value in the future.
///
/// Throws: what `awaited` throws. Before anything starts: `not_permitted` where
/// weir/core/sync_guard.hpp forbids waits; std::bad_alloc.
/// In a capture: allowed while other streams are being captured.
/// In a host function: throws `not_permitted`.
/// Thread safety: may be called from any thread, also concurrently.
/// Driver: as `awaited`.
template <awaitable A>
requires(!std::derived_from<std::remove_cvref_t<A>, completion> &&
         detail::returnable<await_result_t<A>>) decltype(auto)
    sync_wait(A&& awaited, call_site at = call_site::current()) {
  detail::run_loop_scope loop{at};
  task<await_result_t<A>> outer = detail::as_task(std::forward<A>(awaited));
  const detail::callback_coroutine on_finish{
      [](void* scope) noexcept { static_cast<detail::run_loop_scope*>(scope)->finish(); }, &loop};
  auto awaiter = std::move(outer).operator co_await();
  if (awaiter.await_suspend(on_finish.handle())) loop.run();
  return awaiter.await_resume();
}

/// Tasks must be moved: sync_wait(std::move(t)).
template <class T>
void sync_wait(const task<T>& needs_std_move, call_site = {}) = delete;

/// Blocks until a completion is done, like awaited.wait(at), without a coroutine. On a thread that
/// polls a reactor (weir/completion/reactor.hpp) it also resumes coroutines.
///
/// Throws: as completion::wait().
inline void sync_wait(const completion& awaited, call_site at = call_site::current()) {
  if (!detail::polls_a_reactor()) return awaited.wait(at);
  const errc outcome = sync_wait(detail::outcome_of(awaited), at);
  using access = detail::completion_access;
  detail::throw_outcome(access::queue(awaited), access::ticket(awaited), outcome, "weir::sync_wait",
                        at);
}

}  // namespace weir
