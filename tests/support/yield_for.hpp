// SPDX-License-Identifier: Apache-2.0
// support/yield_for.hpp - lets other threads run for a while.
#pragma once

#include <chrono>
#include <thread>

namespace weir::test {

// Yields for `time`, at least once. A fixed number of yields would not do: beside busy loops each
// takes milliseconds.
inline void yield_for(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  do std::this_thread::yield();
  while (std::chrono::steady_clock::now() < end);
}

}  // namespace weir::test
