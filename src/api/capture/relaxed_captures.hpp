// api/capture/relaxed_captures.hpp - calls that a driver holds to be unsafe while anybody captures, made without harm.
#pragma once

#include "api/core/check.hpp"
#include "api/core/first_failure.hpp"
#include "api/core/guard.hpp"
#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>

#include <atomic>

namespace weir::detail {

// Around calls that do no harm to a capture, but that a driver refuses, and drops captures for, because they might:
// making pools, reading and setting their attributes, asking a stream that does not capture whether it is done. The
// thread says that it knows what it does, and takes that back at the end. Two calls, which touch nothing but a variable
// of the thread.
class relaxed_captures {
 public:
  explicit relaxed_captures(call_site at) : relaxed_captures{true, at} {}
  // Nothing at all where nobody captures.
  relaxed_captures(bool while_captured, call_site at) {
    if (!while_captured) [[likely]] {
      return;
    }
    check(driver().cuThreadExchangeStreamCaptureMode(&mode_), call_, {}, at);
    exchanged_ = true;
  }
  // Where nothing can be thrown: what comes then is called all the same.
  explicit relaxed_captures(first_failure& failure) noexcept {
    const CUresult answer = driver().cuThreadExchangeStreamCaptureMode(&mode_);
    failure.note(answer, call_);
    exchanged_ = answer == CUDA_SUCCESS;
  }
  relaxed_captures(const relaxed_captures&) = delete;
  relaxed_captures& operator=(const relaxed_captures&) = delete;
  ~relaxed_captures() {
    if (exchanged_) check_unraised(driver().cuThreadExchangeStreamCaptureMode(&mode_), call_, {});
  }

 private:
  static constexpr const char* call_ = "cuThreadExchangeStreamCaptureMode";
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // of the thread, between the two
  bool exchanged_ = false;
};

// The same for hot paths: one load unless a capture that was begun through weir is open. In those that were begun
// elsewhere the driver's own answer stands.
class relaxed_in_our_captures {
 public:
  explicit relaxed_in_our_captures(call_site at) : unharmed_{open_captures.load(std::memory_order_relaxed) != 0, at} {}

 private:
  relaxed_captures unharmed_;
};

}  // namespace weir::detail
