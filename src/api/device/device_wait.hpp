// SPDX-License-Identifier: Apache-2.0
// api/device/device_wait.hpp - driver calls of weir's threads that wait for a device.
#pragma once

#include "api/core/first_failure.hpp"
#include "api/device/make_current.hpp"

namespace weir::detail {

// Counts a driver call that waits for the device in blocking_driver_calls. Does nothing on threads
// other than the one of defer_blocking_task().
class device_wait_guard {
 public:
  device_wait_guard() noexcept;
  device_wait_guard(const device_wait_guard&) = delete;
  device_wait_guard& operator=(const device_wait_guard&) = delete;
  ~device_wait_guard();

 private:
  bool on_blocking_thread_;
};

// Like call_in_context(), with a device_wait_guard around call(), which waits for the device.
template <class Call>
void call_blocking_in_context(CUcontext context, first_failure& failure, Call call) noexcept {
  call_in_context(context, failure, [&] {
    const device_wait_guard waits;
    call();
  });
}

}  // namespace weir::detail
