// SPDX-License-Identifier: Apache-2.0
// embedded/entry/kernel/jit_options.hpp - the options of a load, including the log buffers of the
// program.
#pragma once

#include <chrono>
#include <string_view>

#include "driver/abi.hpp"

namespace weir::embedded::entry {

// The options of cuModuleLoadDataEx and similar functions. An image for the embedded device is
// already compiled, so most options have no effect. Only the options for logs and for the time of
// compilation have an effect.
class jit_options {
 public:
  // Checks the options and keeps pointers to the program's arrays for write(). Returns
  // CUDA_ERROR_INVALID_VALUE for null arrays and unknown options.
  abi::CUresult read(unsigned count, const abi::CUjit_option* options, void** values) noexcept;

  // Writes the results that the options request: an empty information log, `diagnostic` as error
  // log, and the lengths of both. `answer` is the result of the load. If it is
  // CUDA_ERROR_INVALID_PTX, also writes the time since read() as time of compilation.
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
