// support/yield_for.hpp - leaves other threads a while.
#pragma once

#include <chrono>
#include <thread>

namespace weir::test {

// Yields for so long, at least once. Not a number of times: beside busy loops each takes
// milliseconds.
inline void yield_for(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  do std::this_thread::yield();
  while (std::chrono::steady_clock::now() < end);
}

}  // namespace weir::test
