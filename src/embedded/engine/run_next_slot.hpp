// SPDX-License-Identifier: Apache-2.0
// embedded/engine/run_next_slot.hpp - the timeline that a thread has unparked and runs next.
#pragma once

#include <utility>

namespace weir::embedded::engine {

class timeline;

// A chain of streams that wait for each other runs fastest on one thread. A thread that runs
// operations therefore keeps the first timeline that they unpark, instead of queueing it, and runs
// it after its current one. One per thread, used by its own thread only.
class run_next_slot {
 public:
  // Sets which timelines the thread keeps: any, only the next timeline that it needs, or none.
  void accept_any() noexcept { accepted_ = accepted::any; }
  void accept_only(timeline* line) noexcept {
    accepted_ = accepted::one;
    only_accepted_ = line;
  }
  void accept_none() noexcept { accepted_ = accepted::none; }

  // Offers an unparked timeline. Returns true if the thread keeps it.
  [[nodiscard]] bool try_store(timeline& line) noexcept {
    if (accepted_ == accepted::none || stored_ != nullptr ||
        (accepted_ == accepted::one && only_accepted_ != &line))
      return false;
    stored_ = &line;
    return true;
  }

  // Returns the kept timeline, or null. The caller must run it or make it ready.
  [[nodiscard]] timeline* take_timeline() noexcept { return std::exchange(stored_, nullptr); }

  static run_next_slot& of_this_thread() noexcept {
    static constinit thread_local run_next_slot slot;
    return slot;
  }

 private:
  enum class accepted : unsigned char { none, any, one };

  accepted accepted_ = accepted::none;
  timeline* only_accepted_ = nullptr;
  timeline* stored_ = nullptr;
};

}  // namespace weir::embedded::engine
