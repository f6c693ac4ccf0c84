// SPDX-License-Identifier: Apache-2.0
// api/device/device_wait.hpp - driver calls of the reclaimer thread that wait for a device.
#pragma once

#include "api/core/first_failure.hpp"
#include "api/device/make_current.hpp"

namespace weir::detail {

// Sets driver_is_blocked during a driver call that waits for the device. Does nothing on threads
// other than the reclaimer thread.
class device_wait_guard {
 public:
  device_wait_guard() noexcept;
  device_wait_guard(const device_wait_guard&) = delete;
  device_wait_guard& operator=(const device_wait_guard&) = delete;
  ~device_wait_guard();

 private:
  bool on_reclaimer_thread_;
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
