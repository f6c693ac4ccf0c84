// SPDX-License-Identifier: Apache-2.0
// embedded/entry/kernel/jit_options.hpp - the options of a load, including the log buffers of the
// program.
#pragma once

#include <chrono>
#include <string_view>

#include "driver/abi.hpp"

namespace weir::embedded::entry {

// The options of cuModuleLoadDataEx and similar functions. An image for the embedded device is
// compiled already, so most options have no effect. Logs are written, and the time of a
// compilation.
class jit_options {
 public:
  // Returns CUDA_ERROR_INVALID_VALUE for null arrays and unknown options.
  abi::CUresult read(unsigned count, const abi::CUjit_option* options, void** values) noexcept;

  // Writes the error log, its length, and the time that was spent on PTX. Without a diagnostic, the
  // log is empty.
  void write(std::string_view diagnostic, abi::CUresult answer) const noexcept;

 private:
  [[nodiscard]] void** value_of(abi::CUjit_option option) const noexcept;
  void write_log(abi::CUjit_option buffer, abi::CUjit_option size,
                 std::string_view text) const noexcept;

  unsigned count_ = 0;
  const abi::CUjit_option* options_ = nullptr;
  void** values_ = nullptr;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace weir::embedded::entry
