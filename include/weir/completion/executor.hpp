// SPDX-License-Identifier: Apache-2.0
// weir/completion/executor.hpp - executors, which decide where continuations run.
#pragma once

#include <concepts>
#include <coroutine>
#include <utility>

namespace weir {

/// The work that an executor runs. The executor must call it exactly once, on any thread,
/// immediately or later. Trivially copyable, so every queue and std::function accept it.
class continuation {
 public:
  /// Creates a continuation that calls function(argument).
  constexpr continuation(void (*function)(void*) noexcept, void* argument) noexcept
      : function_{function}, argument_{argument} {}
  /// Runs the continuation.
  void operator()() const noexcept { function_(argument_); }

 private:
  void (*function_)(void*) noexcept;
  void* argument_;
};

/// A callable that accepts a continuation and runs it soon:
///
///   auto on_pool = [&pool](weir::continuation c) { boost::asio::post(pool, c); };
///
/// weir calls the executor on a reactor thread, on a thread that polls or is in sync_wait(), or on
/// the coroutine's own thread. The calling thread holds no lock of weir. If the executor throws,
/// the continuation runs on the calling thread.
/// An executor that runs the continuation before it returns uses the stack of its caller; a long
/// chain of such continuations can overflow the stack. The move constructor of an executor must not
/// throw, else the program terminates.
template <class E>
concept executor = std::copy_constructible<std::decay_t<E>> &&
    requires(std::decay_t<E>& target, continuation work) {
  target(work);
};

namespace detail {

/// Runs the continuation on the executor, or here if the executor throws.
template <executor E>
void execute_on(E& target, continuation work) noexcept {
  try {
    target(work);
  } catch (...) {
    work();
  }
}

/// Returns the work of resuming a coroutine.
inline continuation resumption_of(std::coroutine_handle<> awaiting) noexcept {
  return {[](void* frame) noexcept { std::coroutine_handle<>::from_address(frame).resume(); },
          awaiting.address()};
}

/// An executor that runs the continuation inside the call.
struct inline_executor {
  void operator()(continuation work) const noexcept { work(); }
};

}  // namespace detail
}  // namespace weir
