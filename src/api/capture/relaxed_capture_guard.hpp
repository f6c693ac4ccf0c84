// SPDX-License-Identifier: Apache-2.0
// api/capture/relaxed_capture_guard.hpp - allows calls that a driver refuses during captures
// although they do not affect captured work.
#pragma once

#include "api/capture/capture_checks.hpp"
#include "api/core/call_restrictions.hpp"
#include "api/core/check.hpp"
#include "api/core/first_failure.hpp"
#include "driver/relaxed_thread_mode.hpp"

#include <weir/core/call_site.hpp>

#include <atomic>
#include <optional>

namespace weir::detail {

// Switches the calling thread to relaxed capture mode and restores its previous mode at the end.
//
// In other modes a driver refuses some calls during a capture and invalidates the capture. Relaxed
// mode permits them. Used for calls that do not affect captured work, such as creating pools,
// instantiating graphs, loading modules, and querying a stream that is not capturing.
class relaxed_capture_mode {
 public:
  // Does not switch the mode.
  relaxed_capture_mode() noexcept = default;
  explicit relaxed_capture_mode(call_site at) : mode_{driver()} {
    check(mode_.answer(), call_name_, {}, at);
  }
  // Notes in `failure` that the switch has failed, instead of throwing. The caller makes its driver
  // call nevertheless.
  explicit relaxed_capture_mode(first_failure& failure) noexcept : mode_{driver()} {
    failure.note(mode_.answer(), call_name_);
  }
  relaxed_capture_mode(const relaxed_capture_mode&) = delete;
  relaxed_capture_mode& operator=(const relaxed_capture_mode&) = delete;
  ~relaxed_capture_mode() { report_if_failed(mode_.restore(), call_name_, {}); }

 private:
  static constexpr const char* call_name_ = "cuThreadExchangeStreamCaptureMode";
  relaxed_thread_mode mode_;
};

// Returns true if unsafe calls have to be made in relaxed mode (relaxed_mode_reasons). Returns
// false in a forked child, because captures belong to the parent.
[[nodiscard]] inline bool needs_relaxed_mode() noexcept {
  return relaxed_mode_reasons.load(std::memory_order_relaxed) != 0 && !os::in_forked_child();
}

// Switches the mode only if needs_relaxed_mode(). Otherwise costs one load, and the driver may
// refuse the guarded call because of a capture that was started directly through the driver.
class relaxed_mode_if_capturing {
 public:
  explicit relaxed_mode_if_capturing(call_site at)
      : relaxed_{needs_relaxed_mode() ? relaxed_capture_mode{at} : relaxed_capture_mode{}} {}

 private:
  relaxed_capture_mode relaxed_;
};

// Throws if the stream takes part in any capture. Costs less than throw_if_stream_captured() if it
// does not. Driver: cuStreamIsCapturing.
inline void throw_if_capturing(CUstream stream, const char* call, call_site at) {
  if (query_capture_status(stream, at) != CU_STREAM_CAPTURE_STATUS_NONE) [[unlikely]] {
    throw_if_stream_captured(stream, call, at);
  }
}

// Guards a query of a stream or an event. While a capture begun through weir is open, throws if the
// stream or event takes part in a capture, which the query would invalidate. If
// needs_relaxed_mode(), switches to relaxed mode, so that the query invalidates no other capture.
// Otherwise costs one load.
class relaxed_capture_guard {
 public:
  relaxed_capture_guard(stream_ref stream, const char* call, call_site at) {
    if (needs_relaxed_mode()) [[unlikely]] {
      if (any_capture_active()) throw_if_stream_captured(stream.get(), call, at);
      relaxed_.emplace(at);
    }
  }
  relaxed_capture_guard(event_ref event, const char* call, call_site at) {
    if (needs_relaxed_mode()) [[unlikely]] {
      if (any_capture_active()) throw_if_event_captured(event.get(), call, at);
      relaxed_.emplace(at);
    }
  }

 private:
  std::optional<relaxed_capture_mode> relaxed_;
};

}  // namespace weir::detail
