// SPDX-License-Identifier: Apache-2.0
// embedded/engine/run_next_slot.hpp - the timeline that a thread has unparked and runs next.
#pragma once

#include <utility>

namespace weir::embedded::engine {

class timeline;

// A chain of streams that wait for each other runs fastest on one thread. A timeline, the sequence
// of operations of a stream, is unparked when its wait has ended. A thread that runs operations
// keeps the first timeline that they unpark, instead of queueing it for the workers. It runs the
// kept timeline after its current one. One slot per thread, used by its own thread only.
class run_next_slot {
 public:
  // Lets the thread keep any timeline from now on.
  void accept_any() noexcept { accepted_ = accepted::any; }
  // Lets the thread keep only this timeline from now on; none if `line` is null.
  void accept_only(timeline* line) noexcept {
    accepted_ = accepted::one;
    only_accepted_ = line;
  }
  // Lets the thread keep no timeline from now on. A timeline that it already keeps stays.
  void accept_none() noexcept { accepted_ = accepted::none; }

  // Offers an unparked timeline. Returns true if the thread keeps it.
  [[nodiscard]] bool try_store(timeline& line) noexcept {
    if (accepted_ == accepted::none || stored_ != nullptr ||
        (accepted_ == accepted::one && only_accepted_ != &line))
      return false;
    stored_ = &line;
    return true;
  }

  // Empties the slot and returns its timeline, or null. The caller must run the timeline or call
  // its make_ready().
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
