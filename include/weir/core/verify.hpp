// SPDX-License-Identifier: Apache-2.0
// weir/core/verify.hpp - verify mode: finds the operation that fails by waiting for each one.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/duration.hpp>
#include <weir/detail/export.hpp>

namespace weir {
namespace detail {
WEIR_EXPORT void set_verify_timeout_nanoseconds(long long nanoseconds) noexcept;
}

// Errors of asynchronous work are normally reported by a later call, far from the line that queued
// the work. In verify mode every operation of weir that queues work in a stream waits for that
// stream before it queues the work and again afterwards. The call that throws is then the one whose
// work failed, and its error names the line. If work failed that weir did not queue, the next
// operation on its stream throws, and the error says so. Destructors report errors to
// set_unhandled_error_handler. The call that queued a host function throws its exception. The
// program runs as if a sync followed every operation: use this mode to find a mistake, not to
// measure.
//
// The environment variable WEIR_VERIFY=1 turns verify mode on for a whole program. It is off if the
// variable is 0 or not set; any other value is an error at the first use of weir. Verify mode costs
// nothing while it is off.
//
// weir does not wait for a stream that captures, and the waits invalidate no capture. If a stream
// is blocked, for example by a value that has not been written yet, the wait ends after the time
// set by set_verify_timeout(). Later operations on that stream only query it, without waiting,
// until its work has finished. An error of that work is then reported by the operation whose query
// finds it.

/// Turns verify mode on or off for the whole process. Returns true if it was on before. Chooses a
/// driver if none is in use, as current_driver() does. Operations in progress are not affected.
///
/// Thread safety: may be called from any thread.
WEIR_EXPORT bool verify_operations(bool enabled, call_site at = call_site::current());
/// Returns true if verify mode is on.
[[nodiscard]] WEIR_EXPORT bool verifying_operations() noexcept;

/// Sets the time limit of each wait in verify mode. The default is 2 s.
template <detail::duration_like Duration>
void set_verify_timeout(const Duration& longest) noexcept {
  detail::set_verify_timeout_nanoseconds(detail::nanoseconds(longest));
}

}  // namespace weir
