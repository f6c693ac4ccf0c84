// SPDX-License-Identifier: Apache-2.0
// tools/weir/progress.hpp - a progress bar.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

namespace weir::tool {

// A single line on standard error, redrawn in place, and only if standard error is a terminal. The
// destructor erases it. Thread safety: advance() from any thread.
class progress {
 public:
  // `total` is the sum of all advance() calls.
  explicit progress(std::uint64_t total);
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress();

  void advance(std::uint64_t bytes);

 private:
  using clock = std::chrono::steady_clock;
  void draw(std::uint64_t done) const;

  std::uint64_t total_;
  std::atomic<std::uint64_t> done_ = 0;
  std::mutex drawing_;
  clock::time_point next_drawing_;  // guarded by drawing_
  bool visible_;
};

}  // namespace weir::tool
