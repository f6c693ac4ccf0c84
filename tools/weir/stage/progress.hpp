// stage/progress.hpp - a bar that shows how far the job is, for people who watch.
#pragma once

#include <chrono>
#include <cstdint>

namespace weir::tool {

// One line on standard error, redrawn in place, and only where that is a terminal. It goes when the object does.
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
  void draw() const;

  std::uint64_t total_;
  std::uint64_t done_ = 0;
  clock::time_point next_drawing_;
  bool visible_;
};

}  // namespace weir::tool
