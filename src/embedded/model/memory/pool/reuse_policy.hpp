// model/reuse_policy.hpp - who asks a pool for memory, and whose frees he may take for done.
#pragma once

#include <cstdint>

#include "embedded/engine/timeline.hpp"

namespace weir::embedded::model {

// A stream that allocates, under the policies of a pool. Lives as long as one search.
class reuse_policy {
 public:
  enum class reuse_level : std::uint8_t {
    known,     // what comes before his work for certain
    complete,  // and what is complete by now
    all        // and what is not: he will wait for it
  };

  reuse_policy(const engine::timeline& line, bool follows_waits, reuse_level what) noexcept
      : line_{line}, follows_waits_{follows_waits}, level_{what} {}

  [[nodiscard]] const engine::timeline& line() const noexcept { return line_; }

  // May he use what is free from this point on?
  [[nodiscard]] bool may_use(engine::point free_at) const noexcept {
    if (level_ == reuse_level::all || free_at.line == nullptr || free_at.line == &line_)
      return true;
    if (free_at.line->is_known_to_host(free_at.count)) return true;
    if (level_ == reuse_level::complete && free_at.reached()) return true;
    return follows_waits_ && follows(free_at);
  }

 private:
  bool follows(engine::point free_at) const noexcept {
    if (known_line_ != free_at.line) {
      known_line_ = free_at.line;
      known_count_ = engine::known_to_precede(*free_at.line, line_);
    }
    return free_at.count <= known_count_;
  }

  const engine::timeline& line_;
  bool follows_waits_;
  reuse_level level_;
  // What was found out about one timeline, most often the only one that matters.
  mutable const engine::timeline* known_line_ = nullptr;
  mutable std::uint64_t known_count_ = 0;
};

}  // namespace weir::embedded::model
