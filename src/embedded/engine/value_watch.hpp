// engine/value_watch.hpp - the timelines that wait for a word of memory to take a value.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "embedded/engine/timeline.hpp"

namespace weir::embedded::engine {

// Anybody may write the word at any time without telling, so one thread looks: closely at first, then ever less often,
// up to once a millisecond. It sleeps where nothing is waited for.
//
// Thread safety: all members, from any thread.
class value_watch {
 public:
  // Takes a parked timeline; it is unparked when its value is there.
  void add(timeline& line) noexcept;

 private:
  void keep_looking() noexcept;
  bool look() noexcept;  // true if a value had arrived

  std::mutex mutex_;
  std::vector<timeline*> waiting_;
  std::vector<timeline*> arrived_;  // the looking thread's; kept for its capacity
  bool started_ = false;
  std::atomic<std::uint32_t> additions_{0};
};

}  // namespace weir::embedded::engine
