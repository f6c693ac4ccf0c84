// reactor/lanes_to_tidy.hpp - lanes that nobody waits in any more, to be tidied when those who waited are told.
#pragma once

#include "reactor/lane.hpp"

#include <array>
#include <cstddef>

namespace weir::detail {

// Of one pass of a reactor, which tells everybody first: it takes a microsecond to destroy an event that has failed, and nobody is
// to wait for that.
class lanes_to_tidy {
 public:
  lanes_to_tidy() noexcept = default;
  lanes_to_tidy(const lanes_to_tidy&) = delete;
  lanes_to_tidy& operator=(const lanes_to_tidy&) = delete;
  ~lanes_to_tidy() { tidy(); }
  void add(lane& one) noexcept {
    if (count_ == all_.size()) tidy();
    all_[count_++] = &one;
  }

 private:
  void tidy() noexcept {
    for (; count_ != 0; --count_) all_[count_ - 1]->tidy();
  }

  std::array<lane*, 64> all_;  // as many as are awaited at a time, mostly
  std::size_t count_ = 0;
};

}  // namespace weir::detail
