// model/module_image.hpp - the code and the variables of a module: a shared object of the host,
// loaded.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "driver/abi.hpp"
#include "embedded/kernel/image/image_bytes.hpp"
#include "embedded/kernel/image/module_abi.h"

namespace weir::embedded::model {

// Whoever may yet run a kernel of it, or use a variable, shares it: it stays mapped as long.
//
// Thread safety: all members, from any thread.
class module_image {
 public:
  // Loads an image that was looked at, for good measure a copy of its own: no two share variables.
  // CUDA_SUCCESS; CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND where it wants what this process has
  // not, else CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, and the host's loader complains. Throws
  // std::bad_alloc.
  static abi::CUresult load(const kernel::image_bytes& bytes,
                            std::shared_ptr<const module_image>& out, std::string& diagnostic);

  // What the loader gave, and what it exports.
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

  // What it has of constant memory.
  [[nodiscard]] std::size_t constant_bytes() const noexcept { return constant_bytes_; }

  // By the linker's names. Where there is none: null.
  [[nodiscard]] const weir_kernel* find_kernel(std::string_view name) const noexcept;
  [[nodiscard]] const weir_variable* find_variable(std::string_view name) const noexcept;

 private:
  loaded_object object_;
  const weir_module_table& table_;
  std::size_t constant_bytes_ = 0;
  std::unordered_map<std::string_view, const weir_kernel*> kernels_by_name_;
  std::unordered_map<std::string_view, const weir_variable*> variables_by_name_;
};

}  // namespace weir::embedded::model
