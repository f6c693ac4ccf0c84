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
// stream before and after. The call that throws is then the one whose work failed, and its error
// names the line. If earlier work failed that weir did not queue, the error says so. Destructors
// report to set_unhandled_error_handler, and an exception of a host function is thrown by the call
// that queued it. The program runs as if a sync followed every operation: use this mode to find a
// mistake, not to measure.
//
// The environment turns it on for a whole program: WEIR_VERIFY=1. 0 or unset is off; any other
// value is an error at the first use of weir. While it is off it costs nothing.
//
// A stream that captures is not waited for, and the waits invalidate no capture. If a stream is
// blocked, for example by a value that has not been written yet, the wait ends after
// set_verify_timeout(). From then on the stream is only queried until it has caught up, and a
// failure in it is reported by a later operation.

/// Turns verify mode on or off for the whole process, and returns the previous state. Chooses a
/// driver if none is in use. Operations in progress are not affected.
///
/// Thread safety: may be called from any thread.
WEIR_EXPORT bool verify_operations(bool enabled, call_site at = call_site::current());
/// Returns true if verify mode is on.
[[nodiscard]] WEIR_EXPORT bool verifying_operations() noexcept;

/// Sets how long to wait for one operation. The default is 2 s.
template <detail::duration_like Duration>
void set_verify_timeout(const Duration& longest) noexcept {
  detail::set_verify_timeout_nanoseconds(detail::nanoseconds(longest));
}

}  // namespace weir
