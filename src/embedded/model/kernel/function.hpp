// SPDX-License-Identifier: Apache-2.0
// model/kernel/function.hpp - functions: a CUfunction is a kernel of a module in a context.
#pragma once

#include <array>
#include <atomic>
#include <climits>
#include <cstddef>
#include <memory>

#include "driver/abi.hpp"
#include "driver/abi/module_abi.h"
#include "embedded/model/kernel/module_image.hpp"
#include "os/spin_lock.hpp"

namespace weir::embedded::model {

class context;
class device;
struct loaded_module;

// The attributes that were set on a function, or on a library's kernel for a device.
//
// Thread safety: all members may be called from any thread.
class function_settings {
 public:
  static constexpr std::size_t attributes =
      abi::CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE + 1;
  static constexpr int unset = INT_MIN;

  [[nodiscard]] int get(abi::CUfunction_attribute attribute_id) const noexcept {
    return values_[attribute_id].load(std::memory_order_relaxed);
  }
  void set(abi::CUfunction_attribute attribute_id, int value) noexcept {
    values_[attribute_id].store(value, std::memory_order_relaxed);
  }
  // CU_FUNC_CACHE_PREFER_NONE if not set.
  [[nodiscard]] abi::CUfunc_cache cache_config() const noexcept {
    return cache_config_.load(std::memory_order_relaxed);
  }
  void set_cache_config(abi::CUfunc_cache config) noexcept {
    cache_config_.store(config, std::memory_order_relaxed);
  }

  void clear() noexcept {
    for (std::atomic<int>& stored_value : values_)
      stored_value.store(unset, std::memory_order_relaxed);
    set_cache_config(abi::CU_FUNC_CACHE_PREFER_NONE);
  }

 private:
  std::array<std::atomic<int>, attributes> values_;
  std::atomic<abi::CUfunc_cache> cache_config_{abi::CU_FUNC_CACHE_PREFER_NONE};
};

// Gets an attribute of a kernel, as set or as compiled. `constant_bytes`: the constant memory of
// its module. Returns false for an unknown attribute.
[[nodiscard]] bool get_attribute(const weir_kernel& kernel_description,
                                 const function_settings& settings,
                                 const function_settings* fallback, std::size_t constant_bytes,
                                 abi::CUfunction_attribute attribute_id, int& out) noexcept;

// Sets an attribute. Returns CUDA_ERROR_INVALID_VALUE if it is read-only, if the value is out of
// range, or if the kernel was compiled for another cluster size.
abi::CUresult set_attribute(const weir_kernel& kernel_description, function_settings& settings,
                            abi::CUfunction_attribute attribute_id, int value) noexcept;

// A function. Objects are reused (handle_table.hpp).
//
// Thread safety: all members may be called from any thread, except open() and close(), which its
// module calls.
class function {
 public:
  // `kernel_settings`: the settings of the library's kernel, which must outlive the function; null
  // for a function of a module.
  void open(loaded_module& owner_module, const weir_kernel& kernel,
            const function_settings* kernel_settings) noexcept;
  void close() noexcept;

  // Returns the context that the function belongs to.
  [[nodiscard]] context& owner() const noexcept { return *owner_; }
  [[nodiscard]] loaded_module& module() const noexcept { return *module_; }

  // Returns the image with the kernel's code and variables; null once the module is unloaded. A
  // caller that runs or reads the kernel must hold it.
  [[nodiscard]] std::shared_ptr<const module_image> image() const noexcept;

  // Returns true until the module is unloaded. Sequentially consistent: a thread that submits a
  // launch and then still finds the function open is included in the wait of the unload.
  [[nodiscard]] bool is_open() const noexcept { return open_.load(); }

  // Returns the kernel. Call only while holding the image.
  [[nodiscard]] const weir_kernel& kernel() const noexcept {
    return *kernel_.load(std::memory_order_relaxed);
  }

  // Returns true if the program requested the function itself, not only a list of functions. On a
  // GPU some attributes of unloaded functions are unknown.
  [[nodiscard]] bool loaded() const noexcept { return loaded_.load(std::memory_order_relaxed); }
  void load() noexcept { loaded_.store(true, std::memory_order_relaxed); }

  // Get and set attributes without holding the image. Return CUDA_ERROR_INVALID_HANDLE if the
  // module was unloaded.
  abi::CUresult attribute(abi::CUfunction_attribute attribute_id, int& out) const noexcept;
  abi::CUresult set(abi::CUfunction_attribute attribute_id, int value) noexcept;

  // Returns the value of a valid attribute. Only while the caller holds the image.
  [[nodiscard]] int value_of(abi::CUfunction_attribute attribute_id) const noexcept;

  // Returns the dynamic shared memory, in bytes, that a block may have. Static and dynamic shared
  // memory together are limited by the block's maximum.
  [[nodiscard]] unsigned max_dynamic_shared() const noexcept {
    return static_cast<unsigned>(value_of(abi::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
  }

  // Returns the cluster size of every launch, set or compiled; {0, 0, 0} if each launch specifies
  // it.
  [[nodiscard]] weir_extent cluster() const noexcept;

  // Returns the value set on the function, or else on the library's kernel.
  [[nodiscard]] abi::CUfunc_cache cache_config() const noexcept;
  void set_cache_config(abi::CUfunc_cache config) noexcept { settings_.set_cache_config(config); }

 private:
  context* owner_ = nullptr;
  loaded_module* module_ = nullptr;
  std::atomic<const weir_kernel*> kernel_{nullptr};
  std::atomic<std::size_t> constant_bytes_{0};
  std::atomic<bool> loaded_{false};
  std::atomic<bool> open_{false};
  function_settings settings_;
  const function_settings* kernel_settings_ = nullptr;
  mutable weir::os::spin_lock lock_;  // guards the image
  std::shared_ptr<const module_image> image_;
};

// Resolves a function, or a library's kernel passed as one, which stands for its function in
// context `requested_context` or, if null, in the current context. Returns
// CUDA_ERROR_INVALID_HANDLE for another handle, or the context's error. Throws std::bad_alloc,
// because the first use loads a library into the context.
abi::CUresult find_function(abi::CUfunction handle, context* requested_context, function*& out);

}  // namespace weir::embedded::model
