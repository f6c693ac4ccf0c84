// SPDX-License-Identifier: Apache-2.0
// driver/verify.hpp - a driver table whose functions wait for each operation, so that errors name
// the operation that failed.
#pragma once

#include "driver/table.hpp"

#include <atomic>

namespace weir::detail {

// Installs or removes the verifying table over the table in use. Its functions that enqueue work
// wait for the stream before and after the call, and return the error of the stream's work. Without
// the table verification costs nothing. If another table was installed over the verifying table,
// the verifying table stays installed and is only switched on or off.
//
// Thread safety: may be called from any thread. Calls in progress end in the mode in which they
// began.
void set_verification(bool enabled);

// True while verification is switched on.
inline constinit std::atomic<bool> verification_on{false};
// Returns true if verification is switched on. Cost: one load.
[[nodiscard]] inline bool verifying() noexcept {
  return verification_on.load(std::memory_order_relaxed);
}

// The longest wait for a stream, in nanoseconds. A stream that takes longer is blocked, for
// instance by a wait for a value that is not written yet. It is then only queried, until its work
// is complete.
inline constinit std::atomic<long long> verification_timeout{2'000'000'000};

// Says when an error was found: by the call itself, or by the wait before or after the call.
enum class failure_phase : unsigned char { by_call, before_call, after_call };
// Returns the phase of the error that the calling thread's last driver call returned, and resets it
// to by_call.
[[nodiscard]] failure_phase take_failure_phase() noexcept;

}  // namespace weir::detail
