// SPDX-License-Identifier: Apache-2.0
// embedded/engine/wait_log.hpp - the recent waits of a timeline, which order its work after that of
// other timelines.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "embedded/engine/operation.hpp"
#include "embedded/engine/seqlock.hpp"

namespace weir::embedded::engine {

// The last 16 waits of a timeline, the sequence of operations of a stream. Each entry is a position
// in the timeline and the point in another timeline for which the operations after the position
// wait. Used to find out whether one stream is ordered after another before either has run
// (memory_pool.hpp). Older waits are forgotten, so the answer may wrongly be "not ordered", but
// never wrongly "ordered".
//
// Thread safety: one thread writes at a time; any thread may read at any time, without a lock.
class wait_log {
 public:
  // False: waits are not logged. Set to true, for good, by the first memory pool or graph
  // allocation that needs the log.
  static inline constinit std::atomic<bool> enabled{false};

  // Logs that all operations after the first `position` ones wait for the point.
  void add(std::uint64_t position, point target) noexcept {
    entries_[next_++ % entries_.size()].store({position, target});
  }

  // Calls visit(point) for the point of each logged wait at a position up to `end`.
  template <class Visitor>
  void for_each_before(std::uint64_t end, Visitor&& visit) const noexcept {
    for (const seqlock<entry>& logged_wait : entries_) {
      entry copy{};
      if (logged_wait.try_load(copy) && copy.target.line != nullptr && copy.position <= end)
        visit(copy.target);
    }
  }

 private:
  struct entry {
    std::uint64_t position;
    point target;
  };

  std::array<seqlock<entry>, 16> entries_;
  std::uint32_t next_ = 0;
};

// Returns a count of operations of `earlier` that run before all work submitted to `later` from now
// on, according to the logged waits, directly or through other timelines. The true count may be
// higher.
[[nodiscard]] std::uint64_t known_to_precede(const timeline& earlier,
                                             const timeline& later) noexcept;

// Records that the host has waited for the point. The host then knows that the point is reached,
// and all points that the log orders before it. Follows the log to 32 points at most.
void mark_known_to_host(point target) noexcept;

}  // namespace weir::embedded::engine
