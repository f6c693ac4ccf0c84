// SPDX-License-Identifier: Apache-2.0
// embedded/model/kernel/function.hpp - functions. A CUfunction names a kernel of a module in a
// context.
#pragma once

#include <array>
#include <atomic>
#include <climits>
#include <cstddef>
#include <memory>
#include <optional>

#include "driver/abi.hpp"
#include "driver/abi/module_abi.h"
#include "embedded/model/kernel/module_image.hpp"
#include "os/spin_lock.hpp"

namespace weir::embedded::model {

class context;
class device;
struct loaded_module;

// The attributes that the program has set: of a function, or of a library's kernel on one device.
// get() returns `unset` for an attribute that was not set.
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
  // Returns the cache configuration that was set, or CU_FUNC_CACHE_PREFER_NONE.
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

// Gets an attribute of a kernel: the value in `settings`, else in `fallback` if it is not null,
// else the value as compiled. `constant_bytes`: the size of the constant memory of the kernel's
// module. Returns std::nullopt for an unknown attribute.
[[nodiscard]] std::optional<int> get_attribute(const weir_kernel& kernel_description,
                                               const function_settings& settings,
                                               const function_settings* fallback,
                                               std::size_t constant_bytes,
                                               abi::CUfunction_attribute attribute_id) noexcept;

// Sets an attribute. Returns CUDA_ERROR_INVALID_VALUE if the attribute is read-only, if the value
// is out of range, or for a cluster size if the kernel was compiled for a fixed one.
abi::CUresult set_attribute(const weir_kernel& kernel_description, function_settings& settings,
                            abi::CUfunction_attribute attribute_id, int value) noexcept;

// A function. Objects are reused (handle_table.hpp).
//
// Thread safety: all members may be called from any thread, except open() and close(), which the
// functions of module.cpp call.
class function {
 public:
  // Begins a lifetime. `kernel_settings`: for a function of a library, the settings of the
  // library's kernel, which must outlive the function. Null for a function of a module.
  void open(loaded_module& owner_module, const weir_kernel& kernel,
            const function_settings* kernel_settings) noexcept;
  void close() noexcept;

  // Returns the context that the function belongs to.
  [[nodiscard]] context& owner() const noexcept { return *owner_; }
  [[nodiscard]] loaded_module& module() const noexcept { return *module_; }

  // Returns the image with the kernel's code and variables; null once the module is unloaded. A
  // caller that runs or reads the kernel must keep the returned pointer meanwhile.
  [[nodiscard]] std::shared_ptr<const module_image> image() const noexcept;

  // Returns true until the module is unloaded. Sequentially consistent: if a thread submits a
  // launch and then still finds the function open, unloading the module waits for that launch.
  [[nodiscard]] bool is_open() const noexcept { return open_.load(); }

  // Returns the kernel. The caller holds the pointer returned by image().
  [[nodiscard]] const weir_kernel& kernel() const noexcept {
    return *kernel_.load(std::memory_order_relaxed);
  }

  // Returns true if the program has requested this function by name, not only in a list of all
  // functions. As on a GPU, some attributes of a function that is not loaded cannot be read.
  [[nodiscard]] bool loaded() const noexcept { return loaded_.load(std::memory_order_relaxed); }
  void load() noexcept { loaded_.store(true, std::memory_order_relaxed); }

  // Stores the value of an attribute in `out`. The caller holds the pointer returned by image().
  // Returns CUDA_ERROR_INVALID_VALUE for an unknown attribute, and CUDA_ERROR_FUNCTION_NOT_LOADED
  // for an attribute that requires loaded().
  abi::CUresult attribute(abi::CUfunction_attribute attribute_id, int& out) const noexcept;
  // Sets an attribute. The caller holds the pointer returned by image(). Returns the result of
  // set_attribute().
  abi::CUresult set(abi::CUfunction_attribute attribute_id, int value) noexcept;

  // Returns the value of a valid attribute. The caller holds the pointer returned by image().
  [[nodiscard]] int value_of(abi::CUfunction_attribute attribute_id) const noexcept;

  // Returns the largest dynamic shared memory of a block, in bytes. The default leaves what the
  // static shared memory does not use; the program can set a larger value.
  [[nodiscard]] unsigned max_dynamic_shared() const noexcept {
    return static_cast<unsigned>(value_of(abi::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
  }

  // Returns the cluster size that was set on the function or compiled into it. Returns {0, 0, 0} if
  // each launch may choose its own.
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

// Finds the function of a handle. Programs may also pass a library's kernel (CUkernel) as a
// CUfunction. It stands for the function of that kernel in `requested_context`, or in the current
// context if that is null. The first use of a library in a context loads it there.
//
// Returns CUDA_ERROR_INVALID_HANDLE for any other handle, CUDA_ERROR_INVALID_CONTEXT if there is no
// context, or the error of the function's context. Throws std::bad_alloc.
abi::CUresult find_function(abi::CUfunction handle, context* requested_context, function*& out);

}  // namespace weir::embedded::model
