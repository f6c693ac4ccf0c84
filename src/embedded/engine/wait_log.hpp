// SPDX-License-Identifier: Apache-2.0
// embedded/engine/wait_log.hpp - the recent waits of a timeline, which order its later work after
// other timelines.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "embedded/engine/operation.hpp"
#include "embedded/engine/seqlock.hpp"

namespace weir::embedded::engine {

// The last 16 waits of a timeline with their positions: operations after a position run after its
// point. Used to find out whether one stream is ordered after another before either has run
// (memory_pool.hpp). Older waits are forgotten, so the answer may wrongly be "not ordered", but
// never wrongly "ordered".
//
// Thread safety: one thread writes at a time; any thread may read at any time, without a lock.
class wait_log {
 public:
  // Waits are logged from the first time that a caller needs the log.
  static inline constinit std::atomic<bool> enabled{false};

  // Operations from `position` on run after the point.
  void add(std::uint64_t position, point target) noexcept {
    entries_[next_++ % entries_.size()].store({position, target});
  }

  // Visits the points of all waits at positions up to `end`.
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

// Records that the host has waited for the point: the point, and all points that the log orders
// before it, are known to the host to be reached.
void mark_known_to_host(point target) noexcept;

}  // namespace weir::embedded::engine
