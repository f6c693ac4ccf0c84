// progress.hpp - a bar that shows how far the job is, for people who watch.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

namespace weir::tool {

// One line on standard error, redrawn in place, and only where that is a terminal. It goes when the
// object does. Thread safety: advance() from any thread.
class progress {
 public:
  // `total` is what all advance() calls add up to.
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
  clock::time_point next_drawing_;  // under drawing_
  bool visible_;
};

}  // namespace weir::tool
