// completion/detached.hpp - the least of all coroutines: it runs at once, and ends itself.
#pragma once

#include <coroutine>
#include <exception>

namespace bench {

struct detached {
  struct promise_type {
    detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

}  // namespace bench
