// SPDX-License-Identifier: Apache-2.0
// harness/raw.hpp - direct driver calls for the measurements.
#pragma once

#include "driver/abi.hpp"
#include "driver/table.hpp"

#include <cstddef>
#include <stdexcept>
#include <string>
#include <weir/device/context.hpp>
#include <weir/device/device.hpp>

namespace bench {

using namespace weir::abi;

// Returns the driver's function table.
[[nodiscard]] inline const weir::detail::driver_table& raw() { return weir::detail::driver(); }

// Throws if a call fails: measuring failed calls is meaningless.
inline void ok(CUresult result) {
  if (result != CUDA_SUCCESS)
    throw std::runtime_error{"a driver call failed with " +
                             std::to_string(static_cast<int>(result))};
}

// A stream and an event of the driver, in the primary context of device 0. As for every figure, the
// program's main function makes that context current on the measuring thread.
class raw_stream {
 public:
  raw_stream() { ok(raw().cuStreamCreate(&handle_, CU_STREAM_NON_BLOCKING)); }
  raw_stream(const raw_stream&) = delete;
  raw_stream& operator=(const raw_stream&) = delete;
  ~raw_stream() { static_cast<void>(raw().cuStreamDestroy_v2(handle_)); }
  operator CUstream() const { return handle_; }
  void sync() const { ok(raw().cuStreamSynchronize(handle_)); }

 private:
  CUstream handle_ = nullptr;
};

class raw_event {
 public:
  explicit raw_event(unsigned flags = CU_EVENT_DISABLE_TIMING) {
    ok(raw().cuEventCreate(&handle_, flags));
  }
  raw_event(const raw_event&) = delete;
  raw_event& operator=(const raw_event&) = delete;
  ~raw_event() { static_cast<void>(raw().cuEventDestroy_v2(handle_)); }
  operator CUevent() const { return handle_; }

 private:
  CUevent handle_ = nullptr;
};

class raw_memory {
 public:
  explicit raw_memory(std::size_t bytes) { ok(raw().cuMemAlloc_v2(&address_, bytes)); }
  raw_memory(const raw_memory&) = delete;
  raw_memory& operator=(const raw_memory&) = delete;
  ~raw_memory() { static_cast<void>(raw().cuMemFree_v2(address_)); }
  operator CUdeviceptr() const { return address_; }

 private:
  CUdeviceptr address_ = 0;
};

}  // namespace bench
