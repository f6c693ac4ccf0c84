// SPDX-License-Identifier: Apache-2.0
// support/created_context.hpp - a context created by the program, beside the primary one.
#pragma once

#include <weir/device/context.hpp>
#include <weir/device/device.hpp>

#include <stdexcept>

#include "driver/table.hpp"

namespace weir::test {

// The context is not current on any thread. Declare it before the objects created in it.
class created_context {
 public:
  explicit created_context(device gpu) {
    const detail::driver_table& driver = detail::driver();
    if (driver.cuCtxCreate_v4(&handle_, nullptr, 0, gpu.ordinal()) != abi::CUDA_SUCCESS &&
        driver.cuCtxCreate_v2(&handle_, 0, gpu.ordinal()) != abi::CUDA_SUCCESS) {  // older drivers
      throw std::runtime_error{"no context can be made"};
    }
    abi::CUcontext popped = nullptr;
    driver.cuCtxPopCurrent_v2(&popped);  // creation made it current
  }
  created_context(const created_context&) = delete;
  created_context& operator=(const created_context&) = delete;
  ~created_context() { detail::driver().cuCtxDestroy_v2(handle_); }

  operator context_ref() const noexcept { return context_ref{handle_}; }

 private:
  abi::CUcontext handle_ = nullptr;
};

}  // namespace weir::test
