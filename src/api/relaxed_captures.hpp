// api/relaxed_captures.hpp - calls that a driver holds to be unsafe while anybody captures, made without harm.
#pragma once

#include "api/check.hpp"
#include "driver/abi.hpp"

#include <weir/call_site.hpp>

namespace weir::detail {

// Around calls that do no harm to a capture, but that a driver refuses, and drops captures for, because they might:
// making pools, reading and setting their attributes, asking a stream that does not capture whether it is done. The
// thread says that it knows what it does, and takes that back at the end. Two calls, which touch nothing but a variable
// of the thread.
class relaxed_captures {
 public:
  explicit relaxed_captures(call_site at) {
    check(driver().cuThreadExchangeStreamCaptureMode(&mode_), "cuThreadExchangeStreamCaptureMode", {}, at);
  }
  relaxed_captures(const relaxed_captures&) = delete;
  relaxed_captures& operator=(const relaxed_captures&) = delete;
  ~relaxed_captures() {
    check_unraised(driver().cuThreadExchangeStreamCaptureMode(&mode_), "cuThreadExchangeStreamCaptureMode", {});
  }

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // of the thread, between the two
};

}  // namespace weir::detail
