// api/device/device_wait.hpp - calls of weir's own thread that wait for a device.
#pragma once

#include "api/core/first_failure.hpp"
#include "api/device/call_in_context.hpp"

namespace weir::detail {

// May a chore make a call now that a driver answers only when its device is done? At exit it may
// for a moment, in which devices come to the end of their work, if they do; then not, and what it
// would free goes with the process. On other threads than weir's it may: they wait because they
// were asked to.
[[nodiscard]] bool can_wait_for_device() noexcept;

// Around such a call.
class device_wait_guard {
 public:
  device_wait_guard() noexcept;
  device_wait_guard(const device_wait_guard&) = delete;
  device_wait_guard& operator=(const device_wait_guard&) = delete;
  ~device_wait_guard();

 private:
  bool on_reclaimer_thread_;
};

// call_in_context() for such a call. Has it been made?
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
