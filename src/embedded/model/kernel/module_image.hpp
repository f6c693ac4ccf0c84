// SPDX-License-Identifier: Apache-2.0
// embedded/model/kernel/module_image.hpp - a loaded shared object with the code and variables of a
// module.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "driver/abi.hpp"
#include "driver/abi/module_abi.h"
#include "embedded/kernel/image/image_bytes.hpp"

namespace weir::embedded::model {

// A loaded image. It stays mapped while a shared_ptr refers to it. Code that may run a kernel or
// use a variable keeps such a pointer.
//
// Thread safety: all members may be called from any thread.
class module_image {
 public:
  // Loads a checked image. `bytes` must not have been loaded before: the loader would recognise the
  // file and return the same variables (image_bytes::duplicate()). Returns
  // CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND if the image needs a symbol that this process does
  // not have. Returns CUDA_ERROR_SHARED_OBJECT_INIT_FAILED for any other failure of the loader.
  // `diagnostic` receives the loader's message. Throws std::bad_alloc.
  static abi::CUresult load(const kernel::image_bytes& bytes,
                            std::shared_ptr<const module_image>& out, std::string& diagnostic);

  // Owns the host loader's handle of an object; unloads the object.
  struct unloader {
    void operator()(void* object) const noexcept;
  };
  using loaded_object = std::unique_ptr<void, unloader>;
  module_image(loaded_object object, const weir_module_table& table);
  module_image(const module_image&) = delete;
  module_image& operator=(const module_image&) = delete;

  [[nodiscard]] std::span<const weir_kernel> kernels() const noexcept {
    return {table_.kernels, table_.kernel_count};
  }
  [[nodiscard]] std::span<const weir_variable> variables() const noexcept {
    return {table_.variables, table_.variable_count};
  }

  // Returns the size in bytes of the image's constant memory.
  [[nodiscard]] std::size_t constant_bytes() const noexcept { return constant_bytes_; }

  // Finds a kernel by its linker name. Returns null if there is none.
  [[nodiscard]] const weir_kernel* find_kernel(std::string_view name) const noexcept;
  // Finds a variable by its linker name. Returns null if there is none.
  [[nodiscard]] const weir_variable* find_variable(std::string_view name) const noexcept;

 private:
  loaded_object object_;
  const weir_module_table& table_;
  std::size_t constant_bytes_ = 0;
  std::unordered_map<std::string_view, const weir_kernel*> kernels_by_name_;
  std::unordered_map<std::string_view, const weir_variable*> variables_by_name_;
};

}  // namespace weir::embedded::model
