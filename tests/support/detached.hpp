// SPDX-License-Identifier: Apache-2.0
// support/detached.hpp - the simplest coroutine: starts at once, and destroys itself at its end.
#pragma once

#include <coroutine>
#include <exception>

namespace weir::test {

// An exception that leaves it terminates the test program.
struct detached {
  struct promise_type {
    detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

}  // namespace weir::test
