// support/green_context_end.hpp - waits for the end of a green context that a graph kept alive.
#pragma once

#include <chrono>
#include <thread>

#include "support/fault_table.hpp"

namespace weir::test {

// Is one green context destroyed since `calls` was made, and no more? Waits for it: a driver lets
// go of what a graph keeps in its own time, on a thread that drain_deferred() knows nothing of.
// What counts calls afterwards would find this one among its own.
[[nodiscard]] inline bool is_destroyed_once(const detail::fault_table& calls) {
  const auto ended = [&] { return calls.count(&detail::driver_table::cuGreenCtxDestroy); };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{60};
  while (ended() == 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  return ended() == 1;
}

}  // namespace weir::test
