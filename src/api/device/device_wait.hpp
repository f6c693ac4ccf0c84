// SPDX-License-Identifier: Apache-2.0
// api/device/device_wait.hpp - driver calls of the reclaimer thread that wait for a device.
#pragma once

#include "api/core/first_failure.hpp"
#include "api/device/make_current.hpp"

namespace weir::detail {

// Returns true if a deferred task may make a driver call that returns only when its device is idle.
// During exit this holds for a short time only; then the resources are left to the operating
// system. Always true on other threads, whose callers have requested the wait.
[[nodiscard]] bool can_wait_for_device() noexcept;

// Marks a call that waits for the device, if this is the reclaimer thread.
class device_wait_guard {
 public:
  device_wait_guard() noexcept;
  device_wait_guard(const device_wait_guard&) = delete;
  device_wait_guard& operator=(const device_wait_guard&) = delete;
  ~device_wait_guard();

 private:
  bool on_reclaimer_thread_;
};

// Like call_in_context(), for a call that waits for the device. Returns false if the function was
// not called.
template <class Call>
bool call_blocking_in_context(CUcontext context, first_failure& failure, Call call) noexcept {
  if (!can_wait_for_device()) return false;
  call_in_context(context, failure, [&] {
    const device_wait_guard waits;
    call();
  });
  return true;
}

}  // namespace weir::detail
