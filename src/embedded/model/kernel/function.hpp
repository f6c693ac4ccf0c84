// model/function.hpp - functions: what a CUfunction stands for, a kernel of a module in a context.
#pragma once

#include <array>
#include <atomic>
#include <climits>
#include <cstddef>
#include <memory>

#include "driver/abi.hpp"
#include "embedded/engine/spin_lock.hpp"
#include "embedded/kernel/image/module_abi.h"
#include "embedded/model/kernel/module_image.hpp"

namespace weir::embedded::model {

class context;
class device;
struct loaded_module;

// What was set of the attributes of a function, or of a library's kernel on a device.
//
// Thread safety: all members, from any thread.
class function_settings {
 public:
  static constexpr std::size_t attributes =
      abi::CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE + 1;
  static constexpr int unset = INT_MIN;

  [[nodiscard]] int get(abi::CUfunction_attribute which) const noexcept {
    return values_[which].load(std::memory_order_relaxed);
  }
  void set(abi::CUfunction_attribute which, int value) noexcept {
    values_[which].store(value, std::memory_order_relaxed);
  }
  // CU_FUNC_CACHE_PREFER_NONE where it was not set.
  [[nodiscard]] abi::CUfunc_cache cache_config() const noexcept {
    return cache_config_.load(std::memory_order_relaxed);
  }
  void set_cache_config(abi::CUfunc_cache config) noexcept {
    cache_config_.store(config, std::memory_order_relaxed);
  }

  void clear() noexcept {
    for (std::atomic<int>& each : values_) each.store(unset, std::memory_order_relaxed);
    set_cache_config(abi::CU_FUNC_CACHE_PREFER_NONE);
  }

 private:
  std::array<std::atomic<int>, attributes> values_;
  std::atomic<abi::CUfunc_cache> cache_config_{abi::CU_FUNC_CACHE_PREFER_NONE};
};

// The value of an attribute of a kernel, as it was compiled or as it was set; false for no
// attribute. `constant_bytes` is what its module has of constant memory.
[[nodiscard]] bool get_attribute(const weir_kernel& of, const function_settings& set,
                                 const function_settings* fallback, std::size_t constant_bytes,
                                 abi::CUfunction_attribute which, int& out) noexcept;

// Sets one. CUDA_ERROR_INVALID_VALUE for what cannot be set, or not so: a cluster's size that the
// kernel was compiled for.
abi::CUresult set_attribute(const weir_kernel& of, function_settings& in,
                            abi::CUfunction_attribute which, int value) noexcept;

// A function. Objects are reused (handle_table.hpp).
//
// Thread safety: all members, from any thread, but for open() and close(), which its module calls.
class function {
 public:
  // `of_kernel`: what was set of the library's kernel, which stays there as long; null for a
  // function of a module.
  void open(loaded_module& in, const weir_kernel& kernel,
            const function_settings* of_kernel) noexcept;
  void close() noexcept;

  // The context that it belongs to.
  [[nodiscard]] context& owner() const noexcept { return *owner_; }
  [[nodiscard]] loaded_module& in() const noexcept { return *in_; }

  // What holds the kernel's code and variables. Whatever may run the kernel, or look at it, shares
  // it. Null once the module has been unloaded: then the function is no more.
  [[nodiscard]] std::shared_ptr<const module_image> image() const noexcept;

  // Has its module not been unloaded yet? Sequentially consistent: who submits a launch and then
  // still finds it open is waited for by the unloading.
  [[nodiscard]] bool is_open() const noexcept { return open_.load(); }

  // The kernel. Only while one has the image.
  [[nodiscard]] const weir_kernel& kernel() const noexcept {
    return *kernel_.load(std::memory_order_relaxed);
  }

  // Has somebody asked for it, or only for a list? Attributes of the latter are not all known on a
  // GPU.
  [[nodiscard]] bool loaded() const noexcept { return loaded_.load(std::memory_order_relaxed); }
  void load() noexcept { loaded_.store(true, std::memory_order_relaxed); }

  // Attributes, for which one need not have the image: CUDA_ERROR_INVALID_HANDLE where it is gone.
  abi::CUresult attribute(abi::CUfunction_attribute which, int& out) const noexcept;
  abi::CUresult set(abi::CUfunction_attribute which, int value) noexcept;

  // One that has a value, of a function whose image one has.
  [[nodiscard]] int value_of(abi::CUfunction_attribute which) const noexcept;

  // How much dynamic shared memory a block may have; the sum with the static one is at most what a
  // block may have.
  [[nodiscard]] unsigned max_dynamic_shared() const noexcept {
    return static_cast<unsigned>(value_of(abi::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
  }

  // The cluster that every launch has, set or compiled; {0, 0, 0} where the launch says.
  [[nodiscard]] weir_extent cluster() const noexcept;

  // What was set of the function, else of the library's kernel.
  [[nodiscard]] abi::CUfunc_cache cache_config() const noexcept;
  void set_cache_config(abi::CUfunc_cache config) noexcept { settings_.set_cache_config(config); }

 private:
  context* owner_ = nullptr;
  loaded_module* in_ = nullptr;
  std::atomic<const weir_kernel*> kernel_{nullptr};
  std::atomic<std::size_t> constant_bytes_{0};
  std::atomic<bool> loaded_{false};
  std::atomic<bool> open_{false};
  function_settings settings_;
  const function_settings* of_kernel_ = nullptr;
  mutable engine::spin_lock lock_;  // guards the image
  std::shared_ptr<const module_image> image_;
};

// Finds what a program may launch or ask about: a function, or a library's kernel passed as one,
// which stands for its function in a context: the one given, else the current one.
// CUDA_ERROR_INVALID_HANDLE for neither; else what the context says of itself. Throws
// std::bad_alloc: a library's code comes into a context at the first use.
abi::CUresult find_function(abi::CUfunction handle, context* in, function*& out);

}  // namespace weir::embedded::model
