// engine/ready_list.hpp - first-in first-out lists of timelines, linked through the timelines themselves.
#pragma once

#include "embedded/engine/timeline.hpp"

namespace weir::embedded::engine {

// Not locked: its user has a lock anyway, for what must change together with it. A timeline is in such a list at most once at a time.
template <timeline* timeline::*Next>
class timeline_list {
 public:
  void push(timeline& line) noexcept {
    line.*Next = nullptr;
    if (first_ == nullptr) {
      first_ = &line;
    } else {
      last_->*Next = &line;
    }
    last_ = &line;
  }
  [[nodiscard]] timeline* pop() noexcept {
    timeline* line = first_;
    if (line != nullptr) first_ = line->*Next;
    return line;
  }
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }

 private:
  timeline* first_ = nullptr;
  timeline* last_ = nullptr;
};

using ready_list = timeline_list<&timeline::next_ready>;
using host_list = timeline_list<&timeline::next_host>;

}  // namespace weir::embedded::engine
