// tests/compile/device.hpp - a device for images, in the plainest way: blocks one after the other,
// and the threads of a block that wait for each other as contexts of one thread of the host, which
// take turns.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "compile/request.hpp"
#include "embedded/kernel/image/module_abi.h"

namespace weir::test {

// What a kernel reported by weir_services::fail.
struct kernel_fault : std::runtime_error {
  kernel_fault(weir_fault reason, const std::string& text)
      : std::runtime_error(text), why{reason} {}
  weir_fault why;
};

// An image that is loaded. Everything that kernels print is kept in output().
class device_image {
 public:
  explicit device_image(const compile::product& made);
  ~device_image();
  device_image(const device_image&) = delete;
  device_image& operator=(const device_image&) = delete;

  [[nodiscard]] const weir_module_table& table() const { return *table_; }
  [[nodiscard]] const weir_kernel& kernel(
      const std::string& name) const;  // fails the test where there is none
  [[nodiscard]] const weir_variable& variable(const std::string& name) const;  // the same

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

  // Whether kernels that can are run by one call a block.
  static bool whole;

  [[nodiscard]] const std::string& output() const;

 private:
  void* library_ = nullptr;
  const weir_module_table* table_ = nullptr;
};

}  // namespace weir::test
