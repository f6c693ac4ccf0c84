// entry/jit_options.hpp - the options of a load, and the logs that a program gives room for among
// them.
#pragma once

#include <chrono>
#include <string_view>

#include "driver/abi.hpp"

namespace weir::embedded::entry {

// What a program gives to cuModuleLoadDataEx and its like. An image for the embedded device is
// compiled already, so that most options have nothing to change; logs are written, and how long it
// took where there was something to compile.
class jit_options {
 public:
  // CUDA_ERROR_INVALID_VALUE for arrays that are not there, and for options that do not exist.
  abi::CUresult read(unsigned count, const abi::CUjit_option* options, void** values) noexcept;

  // Writes what there is to say into the log of errors, or nothing, and how much that was; and how
  // long PTX was looked at.
  void write(std::string_view diagnostic, abi::CUresult answer) const noexcept;

 private:
  [[nodiscard]] void** value_of(abi::CUjit_option which) const noexcept;
  void write_log(abi::CUjit_option buffer, abi::CUjit_option size,
                 std::string_view text) const noexcept;

  unsigned count_ = 0;
  const abi::CUjit_option* options_ = nullptr;
  void** values_ = nullptr;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace weir::embedded::entry
