// engine/run_next_slot.hpp - the timeline that a thread has let go on, and runs itself next.
#pragma once

#include <utility>

namespace weir::embedded::engine {

class timeline;

// A chain of streams that wait for each other runs fastest on one thread. So a thread that runs
// operations keeps the first timeline that they unpark, instead of listing it for the others, and
// takes it when it is through with its own. One a thread; used by its own thread only.
class run_next_slot {
 public:
  // What the thread keeps from here on: any timeline, or only the one that it knows it needs next.
  void accept_any() noexcept { accepted_ = accepted::any; }
  void accept_only(timeline* line) noexcept {
    accepted_ = accepted::one;
    only_ = line;
  }
  void accept_none() noexcept { accepted_ = accepted::none; }

  // Offered an unparked timeline: does the thread keep it?
  [[nodiscard]] bool try_store(timeline& line) noexcept {
    if (accepted_ == accepted::none || stored_ != nullptr ||
        (accepted_ == accepted::one && only_ != &line))
      return false;
    stored_ = &line;
    return true;
  }

  // The one that it kept, if any; it is the caller's now, to run or to announce.
  [[nodiscard]] timeline* take() noexcept { return std::exchange(stored_, nullptr); }

  static run_next_slot& of_this_thread() noexcept {
    static constinit thread_local run_next_slot slot;
    return slot;
  }

 private:
  enum class accepted : unsigned char { none, any, one };

  accepted accepted_ = accepted::none;
  timeline* only_ = nullptr;
  timeline* stored_ = nullptr;
};

}  // namespace weir::embedded::engine
