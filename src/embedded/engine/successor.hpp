// engine/successor.hpp - the timeline that a thread has let go on, and runs itself next.
#pragma once

#include <utility>

namespace weir::embedded::engine {

class timeline;

// A chain of streams that wait for each other runs fastest on one thread. So a thread that runs operations keeps the
// first timeline that they unpark, instead of listing it for the others, and takes it when it is through with its own.
// One a thread; used by its own thread only.
class successor {
 public:
  // What the thread keeps from here on: any timeline, or only the one that it knows it needs next.
  void keep_any() noexcept { wanted_ = wanted::any; }
  void keep_only(timeline* line) noexcept {
    wanted_ = wanted::one;
    only_ = line;
  }
  void keep_none() noexcept { wanted_ = wanted::none; }

  // Offered an unparked timeline: does the thread keep it?
  [[nodiscard]] bool keeps(timeline& line) noexcept {
    if (wanted_ == wanted::none || kept_ != nullptr || (wanted_ == wanted::one && only_ != &line)) return false;
    kept_ = &line;
    return true;
  }

  // The one that it kept, if any; it is the caller's now, to run or to announce.
  [[nodiscard]] timeline* take() noexcept { return std::exchange(kept_, nullptr); }

  static successor& of_this_thread() noexcept {
    static constinit thread_local successor own;
    return own;
  }

 private:
  enum class wanted : unsigned char { none, any, one };

  wanted wanted_ = wanted::none;
  timeline* only_ = nullptr;
  timeline* kept_ = nullptr;
};

}  // namespace weir::embedded::engine
