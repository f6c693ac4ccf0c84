// SPDX-License-Identifier: Apache-2.0
// tests/compile/device.hpp - a minimal device for images: blocks run one after the other, and
// threads of a block that wait for each other run as contexts of one host thread.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "compile/request.hpp"
#include "driver/abi/module_abi.h"

namespace weir::test {

// The error that a kernel reported by weir_services::fail.
struct kernel_fault : std::runtime_error {
  kernel_fault(weir_fault reason, const std::string& text)
      : std::runtime_error(text), why{reason} {}
  weir_fault why;
};

// A loaded image. output() returns everything that its kernels print.
class device_image {
 public:
  explicit device_image(const compile::product& made);
  ~device_image();
  device_image(const device_image&) = delete;
  device_image& operator=(const device_image&) = delete;

  [[nodiscard]] const weir_module_table& table() const { return *table_; }
  [[nodiscard]] const weir_kernel& kernel(
      const std::string& name) const;  // fails the test if there is none
  // fails the test if there is none
  [[nodiscard]] const weir_variable& variable(const std::string& name) const;

  struct shape {
    weir_extent grid{1, 1, 1}, block{1, 1, 1};
    unsigned shared = 0;
  };
  template <class... A>
  void launch(const std::string& name, shape how, A... arguments) {
    const void* pointers[sizeof...(A) + 1] = {&arguments...};
    run(kernel(name), how, pointers);
  }
  void run(const weir_kernel& kernel, shape how,
           const void* const* arguments);  // throws kernel_fault

  // If true, kernels that support it run with one call for each block.
  static bool whole;

  [[nodiscard]] const std::string& output() const;

 private:
  void* library_ = nullptr;
  const weir_module_table* table_ = nullptr;
};

}  // namespace weir::test
