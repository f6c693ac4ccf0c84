// SPDX-License-Identifier: Apache-2.0
// driver/relaxed_thread_mode.hpp - switches a thread to relaxed capture mode.
#pragma once

#include "driver/table.hpp"

#include <utility>

namespace weir::detail {

// Switches the calling thread to relaxed capture mode and restores its mode at the end. In other
// modes the driver refuses calls that could harm a capture, and invalidates captures. Costs two
// calls that access only a variable of the thread.
class relaxed_thread_mode {
 public:
  // Creates an object that does not change the mode.
  relaxed_thread_mode() noexcept = default;
  explicit relaxed_thread_mode(const driver_table& driver) noexcept
      : answer_{driver.cuThreadExchangeStreamCaptureMode(&mode_)},
        driver_{answer_ == CUDA_SUCCESS ? &driver : nullptr} {}
  relaxed_thread_mode(const relaxed_thread_mode&) = delete;
  relaxed_thread_mode& operator=(const relaxed_thread_mode&) = delete;
  ~relaxed_thread_mode() { static_cast<void>(restore()); }

  // Returns the driver's answer to the switch.
  [[nodiscard]] CUresult answer() const noexcept { return answer_; }
  // Returns the mode that the thread had before.
  [[nodiscard]] CUstreamCaptureMode previous() const noexcept { return mode_; }
  // Leaves the thread in relaxed mode.
  void keep() noexcept { driver_ = nullptr; }
  // Restores the mode early. Returns the driver's answer, or success if there is nothing to
  // restore.
  [[nodiscard]] CUresult restore() noexcept {
    if (driver_ == nullptr) return CUDA_SUCCESS;
    return std::exchange(driver_, nullptr)->cuThreadExchangeStreamCaptureMode(&mode_);
  }

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // to exchange with the thread's own
  CUresult answer_ = CUDA_SUCCESS;
  const driver_table* driver_ = nullptr;  // null if there is nothing to restore
};

}  // namespace weir::detail
