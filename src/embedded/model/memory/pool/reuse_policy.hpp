// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/pool/reuse_policy.hpp - which freed blocks a stream's allocation may reuse.
#pragma once

#include <cstdint>

#include "embedded/engine/timeline.hpp"

namespace weir::embedded::model {

// Decides which freed blocks one allocation of a stream may reuse, according to the reuse
// attributes of the pool. The object exists for one search.
class reuse_policy {
 public:
  // Whether the allocation may reuse a block whose free the stream has waited for by an event
  // (CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES).
  enum class event_dependencies : std::uint8_t { ignore, follow };

  enum class reuse_level : std::uint8_t {
    known,     // blocks whose use is known to precede the stream's work
    complete,  // also blocks whose use is complete by now
    all        // also blocks that earlier work still uses, for which the stream will wait
  };

  reuse_policy(const engine::timeline& line, event_dependencies dependencies,
               reuse_level level) noexcept
      : line_{line}, follows_waits_{dependencies == event_dependencies::follow}, level_{level} {}

  [[nodiscard]] const engine::timeline& line() const noexcept { return line_; }

  // Returns true if a block that is free from the point `free_at` on may be used.
  [[nodiscard]] bool may_use(engine::point free_at) const noexcept {
    if (level_ == reuse_level::all || free_at.line == nullptr || free_at.line == &line_)
      return true;
    if (free_at.line->is_known_to_host(free_at.count)) return true;
    if (level_ == reuse_level::complete && free_at.reached()) return true;
    return follows_waits_ && follows_wait(free_at);
  }

 private:
  bool follows_wait(engine::point free_at) const noexcept {
    if (known_line_ != free_at.line) {
      known_line_ = free_at.line;
      known_count_ = engine::known_to_precede(*free_at.line, line_);
    }
    return free_at.count <= known_count_;
  }

  const engine::timeline& line_;
  bool follows_waits_;
  reuse_level level_;
  // The last result of engine::known_to_precede(): known_count_ operations of known_line_ precede
  // the stream's work. Cached, because most freed blocks are from one other timeline.
  mutable const engine::timeline* known_line_ = nullptr;
  mutable std::uint64_t known_count_ = 0;
};

}  // namespace weir::embedded::model
