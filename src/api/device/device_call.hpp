// api/device/device_call.hpp - calls of weir's own thread that wait for a device.
#pragma once

#include "api/core/first_failure.hpp"
#include "api/device/in_context.hpp"

namespace weir::detail {

// May a chore make a call now that a driver answers only when its device is done? At exit it may for a moment, in which
// devices come to the end of their work, if they do; then not, and what it would free goes with the process. On other
// threads than weir's it may: they wait because they were asked to.
[[nodiscard]] bool may_wait_for_device() noexcept;

// Around such a call.
class device_wait {
 public:
  device_wait() noexcept;
  device_wait(const device_wait&) = delete;
  device_wait& operator=(const device_wait&) = delete;
  ~device_wait();

 private:
  bool on_weirs_thread_;
};

// in_context() for such a call. Has it been made?
template <class Call>
bool waiting_in_context(CUcontext context, first_failure& failure, Call call) noexcept {
  if (!may_wait_for_device()) return false;
  in_context(context, failure, [&] {
    const device_wait waits;
    call();
  });
  return true;
}

}  // namespace weir::detail
