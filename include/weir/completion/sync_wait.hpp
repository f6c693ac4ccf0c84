// weir/completion/sync_wait.hpp - blocks a thread for something that is awaited.
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

// The calling thread as the place where what it waits for is resumed.
class WEIR_EXPORT run_loop_scope {
 public:
  // Refused in host functions, and where a guard forbids waits. Throws std::bad_alloc.
  explicit run_loop_scope(call_site at);
  run_loop_scope(const run_loop_scope&) = delete;
  run_loop_scope& operator=(const run_loop_scope&) = delete;
  ~run_loop_scope();

  // Resumes coroutines until finish(), which any thread may call, and after which this may be gone.
  void run() noexcept;
  void finish() noexcept;

 private:
  run_loop* loop_;
};

// Is the calling thread taken to drive a reactor (weir/completion/reactor.hpp)?
[[nodiscard]] WEIR_EXPORT bool polls_a_reactor() noexcept;

inline task<errc> outcome_of(completion awaited) { co_return co_await awaited.outcome(); }

// What it gives passes through a coroutine.
template <class T>
concept returnable = std::is_void_v<T> || std::is_reference_v<T> || std::move_constructible<T>;

template <awaitable A>
task<await_result_t<A>> as_task(A&& awaited) {
  auto&& operand = awaiter_of(std::forward<A>(awaited));
  co_return co_await operand;
}

}  // namespace detail

// Has `awaited` begin, blocks the calling thread until it ends, and gives what it gives. Meanwhile
// the thread resumes what it waits for itself, so that no other thread has to be woken: a coroutine
// that awaits weir's completions alone runs here from beginning to end. It may be called in a
// coroutine that is resumed so, but what waits outside then goes on only when the inner one has
// ended. On a thread of the reactor's, and on one that drives a reactor, it also resumes others
// meanwhile, as nobody else would: hold no lock there that they take. completion::wait() resumes
// nobody. Throws what the awaited one does. What it gives is moved to the caller through the
// coroutine around it; if such a move throws, the value is lost (get() of a future leaves it where
// it is). Refused in host functions (not_permitted), and where weir/core/sync_guard.hpp forbids
// waits; nothing has begun then, nor if there is no memory for the coroutine around it
// (std::bad_alloc). Thread safety: from any thread, several at a time. In captures of other
// streams: allowed. The driver's calls are those of what is awaited.
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

// A task is given away: sync_wait(std::move(t)).
template <class T>
void sync_wait(const task<T>& needs_std_move, call_site = {}) = delete;

// The same: awaited.wait(at), which needs no coroutine, unless the thread is taken to drive a
// reactor (weir/completion/reactor.hpp).
inline void sync_wait(const completion& awaited, call_site at = call_site::current()) {
  if (!detail::polls_a_reactor()) return awaited.wait(at);
  const errc outcome = sync_wait(detail::outcome_of(awaited), at);
  using access = detail::completion_access;
  detail::throw_outcome(access::queue(awaited), access::ticket(awaited), outcome, "weir::sync_wait",
                        at);
}

}  // namespace weir
