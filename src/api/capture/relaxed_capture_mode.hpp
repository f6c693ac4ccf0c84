// api/capture/relaxed_capture_mode.hpp - calls that a driver holds to be unsafe while anybody
// captures, made without harm.
#pragma once

#include "api/core/call_restrictions.hpp"
#include "api/core/check.hpp"
#include "api/core/first_failure.hpp"
#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>

#include <atomic>

namespace weir::detail {

// Around calls that do no harm to a capture, but that a driver refuses, and drops captures for,
// because they might: making pools, reading and setting their attributes, asking a stream that does
// not capture whether it is done. The thread says that it knows what it does, and takes that back
// at the end. Two calls, which touch nothing but a variable of the thread.
class relaxed_capture_mode {
 public:
  explicit relaxed_capture_mode(call_site at) : relaxed_capture_mode{true, at} {}
  // Nothing at all where nobody captures.
  relaxed_capture_mode(bool is_capturing, call_site at) {
    if (!is_capturing) [[likely]] {
      return;
    }
    check(driver().cuThreadExchangeStreamCaptureMode(&mode_), call_name_, {}, at);
    is_exchanged_ = true;
  }
  // Where nothing can be thrown: what comes then is called all the same.
  explicit relaxed_capture_mode(first_failure& failure) noexcept {
    const CUresult answer = driver().cuThreadExchangeStreamCaptureMode(&mode_);
    failure.note(answer, call_name_);
    is_exchanged_ = answer == CUDA_SUCCESS;
  }
  relaxed_capture_mode(const relaxed_capture_mode&) = delete;
  relaxed_capture_mode& operator=(const relaxed_capture_mode&) = delete;
  ~relaxed_capture_mode() {
    if (is_exchanged_)
      report_if_failed(driver().cuThreadExchangeStreamCaptureMode(&mode_), call_name_, {});
  }

 private:
  static constexpr const char* call_name_ = "cuThreadExchangeStreamCaptureMode";
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // of the thread, between the two
  bool is_exchanged_ = false;
};

// The same for hot paths: one load unless a capture that was begun through weir is open. In those
// that were begun elsewhere the driver's own answer stands.
class relaxed_mode_if_capturing {
 public:
  explicit relaxed_mode_if_capturing(call_site at)
      : relaxed_{active_capture_count.load(std::memory_order_relaxed) != 0, at} {}

 private:
  relaxed_capture_mode relaxed_;
};

}  // namespace weir::detail
