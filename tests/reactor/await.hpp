// SPDX-License-Identifier: Apache-2.0
// reactor/await.hpp - a coroutine that counts its resumption, and a wait for that count.
#pragma once

#include <weir/completion/completion.hpp>

#include "support/detached.hpp"

#include <atomic>
#include <thread>

namespace weir::detail {

inline test::detached await(completion c, std::atomic<int>& resumed) {
  static_cast<void>(co_await c.outcome());
  ++resumed;
}

inline void wait_for(const std::atomic<int>& count, int wanted) {
  while (count != wanted) std::this_thread::yield();
}

}  // namespace weir::detail
