// engine/wait_log.hpp - which waits a timeline has behind it: what its later work comes after.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "embedded/engine/operation.hpp"
#include "embedded/engine/seqlock.hpp"

namespace weir::embedded::engine {

// The last waits of a timeline, each with its place: operations behind that place come after the
// point. Kept for those who ask whether one stream is ordered behind another although neither is
// there yet (memory_pool.hpp). Older waits are forgotten, so "not ordered" may be said too often,
// never too seldom.
//
// One thread writes at a time; any may read at any time, without a lock.
class wait_log {
 public:
  // Waits are noted from the first time on that somebody will ask.
  static inline constinit std::atomic<bool> enabled{false};

  // Operations from `position` on come after the point.
  void add(std::uint64_t position, point target) noexcept {
    entries_[next_++ % entries_.size()].store({position, target});
  }

  // Visits the points of the waits that lie before `end`.
  template <class Visitor>
  void for_each_before(std::uint64_t end, Visitor&& visit) const noexcept {
    for (const seqlock<entry>& e : entries_) {
      entry copy{};
      if (e.try_load(copy) && copy.target.line != nullptr && copy.position <= end)
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

// How much of `earlier` comes before what is submitted to `later` from now on, by the waits that
// are on record, directly or through further timelines: so many of its operations, at least.
[[nodiscard]] std::uint64_t known_to_precede(const timeline& earlier,
                                             const timeline& later) noexcept;

// The host has waited for the point, and so knows it to be reached, and with it what is on record
// to come before it.
void mark_known_to_host(point target) noexcept;

}  // namespace weir::embedded::engine
