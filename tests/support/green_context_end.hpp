// SPDX-License-Identifier: Apache-2.0
// support/green_context_end.hpp - waits for the destruction of a green context that a graph kept
// alive.
#pragma once

#include <chrono>
#include <thread>

#include "support/fault_table.hpp"

namespace weir::test {

// Waits until a green context is destroyed. Returns true if exactly one was destroyed since `calls`
// was created. The driver releases what a graph keeps asynchronously, outside drain_deferred(), and
// a later count of calls would include it.
[[nodiscard]] inline bool is_destroyed_once(const detail::fault_table& calls) {
  const auto ended = [&] { return calls.count(&detail::driver_table::cuGreenCtxDestroy); };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{60};
  while (ended() == 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  return ended() == 1;
}

}  // namespace weir::test
