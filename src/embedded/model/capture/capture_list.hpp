// model/capture_list.hpp - the captures of the process, and who may break them.
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "embedded/model/capture/capture.hpp"

namespace weir::embedded::model {

// Guarded by the lock of the graphs (process::graphs_mutex), but for the two functions that give
// numbers.
class capture_list {
 public:
  static capture_list& instance();

  // A capture without anything in it. Throws std::bad_alloc.
  [[nodiscard]] capture& acquire();
  void recycle(capture& c) noexcept;

  // The capture of an id that is still going on, also when it is broken; null where it has ended.
  [[nodiscard]] capture* find(unsigned long long id) const noexcept;

  // Breaks those that a condition holds for. True if there was one, broken already or not.
  template <class Condition>
  bool invalidate_if(Condition&& condition) noexcept {
    bool any = false;
    for (capture* c : active_) {
      if (!condition(*c)) continue;
      c->valid_ = false;
      any = true;
    }
    return any;
  }

  // Does a condition hold for one that is going on, also if it is broken?
  template <class Condition>
  [[nodiscard]] bool is_any(Condition&& condition) const noexcept {
    return std::any_of(active_.begin(), active_.end(),
                       [&](const capture* c) { return condition(*c); });
  }

  // What a call that looks at an event of a capture from the host is told
  // (check_event_not_captured).
  abi::CUresult check_event_of(unsigned long long id, bool invalidates) noexcept;

  // Would an unsafe call of this thread be one too many for the capture?
  [[nodiscard]] static bool prohibits_unsafe_calls(const capture& c,
                                                   abi::CUstreamCaptureMode of_thread) noexcept;

  // Is there a capture for which it would? Breaks those.
  [[nodiscard]] bool prohibits_unsafe_calls_of(abi::CUstreamCaptureMode thread) noexcept;

  // Is a stream in the capture that a condition holds for?
  template <class Condition>
  [[nodiscard]] static bool has_stream(const capture& c, Condition&& condition) noexcept {
    for (const capture::participant& p : c.participants_) {
      if (p.in != nullptr && condition(*p.in)) return true;
    }
    return false;
  }

  [[nodiscard]] static unsigned long long this_thread_number() noexcept;
  [[nodiscard]] static unsigned long long next_id() noexcept;

 private:
  std::deque<capture> all_;  // a deque: they stay where they are
  std::vector<capture*> free_;
  std::vector<capture*> active_;
};

}  // namespace weir::embedded::model
