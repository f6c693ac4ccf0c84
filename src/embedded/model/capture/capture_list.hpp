// SPDX-License-Identifier: Apache-2.0
// model/capture/capture_list.hpp - the captures of the process, and invalidating them.
#pragma once

#include <deque>

#include "embedded/model/capture/capture.hpp"

namespace weir::embedded::model {

// All captures. The caller of each member holds the lock of the graphs (process::graphs_mutex),
// except for this_thread_number().
class capture_list {
 public:
  static capture_list& instance();

  // Returns a capture that is not in progress. Throws std::bad_alloc.
  [[nodiscard]] capture& unused();

  // Returns the capture with this ID while it is in progress, valid or not; null after its end.
  [[nodiscard]] capture* find(unsigned long long id) noexcept;

  // Applies an effect to the captures in progress that match a condition. Returns true if there is
  // one, even if it was already invalid.
  template <class Condition>
  bool apply(capture_effect effect, Condition&& condition) noexcept {
    bool found = false;
    for (capture& candidate : captures_) {
      if (candidate.graph_ == nullptr || !condition(candidate)) continue;
      if (effect == capture_effect::invalidate) candidate.valid_ = false;
      found = true;
    }
    return found;
  }

  // Returns the result for a host call that reads an event whose capture_id() is `id`; see
  // check_event_not_captured(). Returns CUDA_SUCCESS if `id` is 0.
  abi::CUresult check_event_of(unsigned long long id, capture_effect effect) noexcept;

  // Returns true if the capture's mode, together with the mode of the calling thread, prohibits
  // unsafe calls by that thread.
  [[nodiscard]] static bool prohibits_unsafe_calls(const capture& active,
                                                   abi::CUstreamCaptureMode thread_mode) noexcept;

  // Returns true if a stream of the capture matches a condition.
  template <class Condition>
  [[nodiscard]] static bool has_stream(const capture& active, Condition&& condition) noexcept {
    for (const capture::participant& entry : active.participants_) {
      if (entry.captured_stream != nullptr && condition(*entry.captured_stream)) return true;
    }
    return false;
  }

  // Returns a number that is unique among all threads of the process, also ended ones.
  [[nodiscard]] static unsigned long long this_thread_number() noexcept;

 private:
  std::deque<capture> captures_;  // a deque, so that objects do not move
};

}  // namespace weir::embedded::model
