// weir/core/verify.hpp - finding the operation that fails, by waiting for each.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/duration.hpp>
#include <weir/detail/export.hpp>

namespace weir {
namespace detail {
WEIR_EXPORT void set_verify_timeout_nanoseconds(long long nanoseconds) noexcept;
}

// What fails in a stream is told by some later call, far from where it was queued. In verify mode
// every operation of weir that queues work in a stream waits for that stream before and after, so
// that the call that throws is the one whose work failed, and its error names the line. What failed
// before it, in work that weir did not queue, is told as such. Destructors tell it to
// set_unhandled_error_handler, and an exception of a host function comes out of the call that
// queued it. The program runs as if every operation were followed by a sync: for finding a mistake,
// not for measuring.
//
// The environment turns it on for a whole program: WEIR_VERIFY=1 (0 or unset is off, anything else
// an error at the first use of weir). While it is off it costs nothing.
//
// A stream that captures is not waited for, and no capture is broken by the waits. A stream that is
// held, by a value that nobody has written yet for instance, is waited for until patience ends, and
// from then on only looked at, until it has caught up: what fails in it meanwhile is told by a
// later operation.

// Turns it on or off for the whole process, and gives what it was. Thread safety: from any thread;
// operations under way end as they began. Chooses a driver if none is.
WEIR_EXPORT bool verify_operations(bool on, call_site at = call_site::current());
[[nodiscard]] WEIR_EXPORT bool verifying_operations() noexcept;

// How long one operation is waited for; 2 s if this is never called.
template <detail::duration_like Duration>
void set_verify_timeout(const Duration& longest) noexcept {
  detail::set_verify_timeout_nanoseconds(detail::nanoseconds(longest));
}

}  // namespace weir
