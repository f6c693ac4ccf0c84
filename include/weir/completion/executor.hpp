// weir/completion/executor.hpp - where continuations run.
#pragma once

#include <concepts>
#include <utility>

namespace weir {

// What an executor is given: something to call once, on whatever thread it likes, at once or later.
// Trivially copyable, so that every queue takes it, and std::function, too.
class continuation {
 public:
  constexpr continuation(void (*function)(void*) noexcept, void* argument) noexcept
      : function_{function}, argument_{argument} {}
  void operator()() const noexcept { function_(argument_); }

 private:
  void (*function_)(void*) noexcept;
  void* argument_;
};

// Anything that can be called with a continuation, and has it called soon:
//
//   auto on_pool = [&pool](weir::continuation c) { boost::asio::post(pool, c); };
//
// It is called under no lock, by a thread that may run the program's code: one of the reactor's,
// one that polls or is in sync_wait(), or the coroutine's own. If it throws, the continuation runs
// there. One that calls the continuation before it returns runs it on top of its caller: so many in
// a row take so much of the stack. Its move constructor must not throw: nobody could be told, and
// the program ends.
template <class E>
concept executor = std::copy_constructible<std::decay_t<E>> &&
    requires(std::decay_t<E>& to, continuation work) {
  to(work);
};

namespace detail {

// Has the executor call it, or, if it cannot take it, calls it here.
template <executor E>
void execute_on(E& to, continuation work) noexcept {
  try {
    to(work);
  } catch (...) {
    work();
  }
}

struct inline_executor {
  void operator()(continuation work) const noexcept { work(); }
};

}  // namespace detail
}  // namespace weir
