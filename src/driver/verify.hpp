// driver/verify.hpp - a table that waits for every operation, so that the one that fails is the one
// that is told.
#pragma once

#include "driver/table.hpp"

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

namespace weir::detail {

// Puts a table over the one in use, whose functions that queue work in a stream wait for the stream
// before and after, and answer what its work has failed with; or takes it away. While it is not
// there nothing of this costs anything. Is it there already, or under another table, that one stays
// and only does what it is told. Thread safety: any thread; calls of others that are under way end
// as they began.
void set_verification(bool on);

// Is it wanted? One load.
inline constinit std::atomic<bool> verification_on{false};
[[nodiscard]] inline bool verifying() noexcept {
  return verification_on.load(std::memory_order_relaxed);
}

// How long such a wait may take, in nanoseconds. A stream that takes longer is held, by a value
// that is not written yet for instance, and is only looked at from then on, until it has caught up.
inline constinit std::atomic<long long> verification_timeout{2'000'000'000};

// When a wait found the failure that the last call of this thread answered with: before or after
// the operation itself. Asking forgets it.
enum class failure_phase : unsigned char { by_call, before_call, after_call };
[[nodiscard]] failure_phase take_failure_phase() noexcept;

// What WEIR_VERIFY says: off where it is unset, empty or 0. Any other word than 1 is told in
// `problem`.
struct verification_setting {
  bool on = false;
  std::string problem;
};
[[nodiscard]] verification_setting parse_verification_setting(std::string_view value);

}  // namespace weir::detail
