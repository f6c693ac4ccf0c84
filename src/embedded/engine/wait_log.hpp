// engine/wait_log.hpp - which waits a timeline has behind it: what its later work comes after.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "embedded/engine/operation.hpp"
#include "embedded/engine/versioned.hpp"

namespace weir::embedded::engine {

// The last waits of a timeline, each with its place: operations behind that place come after the point. Kept for those who
// ask whether one stream is ordered behind another although neither is there yet (memory_pool.hpp). Older waits are forgotten, so
// "not ordered" may be said too often, never too seldom.
//
// One thread writes at a time; any may read at any time, without a lock.
class wait_log {
 public:
  // Waits are noted from the first time on that somebody will ask.
  static inline constinit std::atomic<bool> wanted{false};

  // Operations from `place` on come after the point.
  void note(std::uint64_t place, point until) noexcept { entries_[next_++ % entries_.size()].store({place, until}); }

  // Visits the points of the waits that lie before `end`.
  template <class Visitor>
  void for_each_before(std::uint64_t end, Visitor&& visit) const noexcept {
    for (const versioned<entry>& e : entries_) {
      entry noted{};
      if (e.try_load(noted) && noted.until.line != nullptr && noted.place <= end) visit(noted.until);
    }
  }

 private:
  struct entry {
    std::uint64_t place;
    point until;
  };

  std::array<versioned<entry>, 16> entries_;
  std::uint32_t next_ = 0;
};

// How much of `of` comes before what is submitted to `asker` from now on, by the waits that are on record, directly or through
// further timelines: so many of its operations, at least.
[[nodiscard]] std::uint64_t known_to_precede(const timeline& of, const timeline& asker) noexcept;

// The host has waited for the point, and so knows it to be reached, and with it what is on record to come before it.
void make_known_to_host(point until) noexcept;

}  // namespace weir::embedded::engine
