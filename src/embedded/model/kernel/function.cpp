// SPDX-License-Identifier: Apache-2.0
// embedded/model/kernel/function.cpp - functions and their attributes.
#include "embedded/model/kernel/function.hpp"

#include <algorithm>
#include <climits>
#include <mutex>

#include "embedded/model/core/device.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/core/thread_state.hpp"
#include "embedded/model/kernel/launch_shape.hpp"
#include "embedded/model/kernel/module.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

int number(std::size_t value) noexcept { return static_cast<int>(value); }

// Returns the value of a valid attribute as compiled.
int compiled_attribute(const weir_kernel& kernel, std::size_t constant_bytes,
                       CUfunction_attribute attribute_id) noexcept {
  switch (attribute_id) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: return number(kernel.max_threads);
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: return number(kernel.static_shared);
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: return number(constant_bytes);
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: return number(kernel.local_bytes);
    case CU_FUNC_ATTRIBUTE_NUM_REGS: return number(limits::registers_per_thread);
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: return limits::architecture;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: return 0;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return number(limits::shared_per_block -
                    std::min<std::size_t>(kernel.static_shared, limits::shared_per_block));
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return CU_SHAREDMEM_CARVEOUT_DEFAULT;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH: return number(kernel.cluster.x);
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT: return number(kernel.cluster.y);
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: return number(kernel.cluster.z);
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return CU_CLUSTER_SCHEDULING_POLICY_DEFAULT;
  }
  return 0;
}

// Like get_attribute(), for a valid attribute. A launch calls it several times.
int effective_value(const weir_kernel& kernel_description, const function_settings& settings,
                    const function_settings* fallback, std::size_t constant_bytes,
                    CUfunction_attribute attribute_id) noexcept {
  int value = settings.get(attribute_id);
  if (value == function_settings::unset && fallback != nullptr) value = fallback->get(attribute_id);
  return value != function_settings::unset
             ? value
             : compiled_attribute(kernel_description, constant_bytes, attribute_id);
}

}  // namespace

std::optional<int> get_attribute(const weir_kernel& kernel_description,
                                 const function_settings& settings,
                                 const function_settings* fallback, std::size_t constant_bytes,
                                 CUfunction_attribute attribute_id) noexcept {
  if (static_cast<std::size_t>(attribute_id) >= function_settings::attributes) return std::nullopt;
  return effective_value(kernel_description, settings, fallback, constant_bytes, attribute_id);
}

CUresult set_attribute(const weir_kernel& kernel_description, function_settings& settings,
                       CUfunction_attribute attribute_id, int value) noexcept {
  int minimum = 0;
  int maximum = INT_MAX;
  switch (attribute_id) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      maximum = number(limits::shared_per_block_opt_in) - number(kernel_description.static_shared);
      break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      minimum = CU_SHAREDMEM_CARVEOUT_DEFAULT;
      maximum = CU_SHAREDMEM_CARVEOUT_MAX_SHARED;
      break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      // Only a size that was not compiled in can be set.
      if (compiled_attribute(kernel_description, 0, attribute_id) != 0)
        return CUDA_ERROR_INVALID_VALUE;
      break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: value = value != 0 ? 1 : 0; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      maximum = CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING;
      break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  if (value < minimum || value > maximum) return CUDA_ERROR_INVALID_VALUE;
  settings.set(attribute_id, value);
  return CUDA_SUCCESS;
}

void function::open(loaded_module& owner_module, const weir_kernel& kernel,
                    const function_settings* kernel_settings) noexcept {
  owner_ = owner_module.owner;
  module_ = &owner_module;
  kernel_.store(&kernel, std::memory_order_relaxed);
  constant_bytes_.store(owner_module.image->constant_bytes(), std::memory_order_relaxed);
  loaded_.store(false, std::memory_order_relaxed);
  settings_.clear();
  kernel_settings_ = kernel_settings;
  open_.store(true);
  const std::lock_guard lock{lock_};
  image_ = owner_module.image;
}

// The old image is released after the lock, because unloading it may take long.
void function::close() noexcept {
  std::shared_ptr<const module_image> old_image;
  open_.store(false);
  const std::lock_guard lock{lock_};
  old_image.swap(image_);
}

std::shared_ptr<const module_image> function::image() const noexcept {
  const std::lock_guard lock{lock_};
  return image_;
}

CUresult function::attribute(CUfunction_attribute attribute_id, int& out) const noexcept {
  const bool requires_loading = attribute_id == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ||
                                attribute_id == CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES ||
                                attribute_id == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  if (requires_loading && !loaded()) return CUDA_ERROR_FUNCTION_NOT_LOADED;
  const std::optional<int> value =
      get_attribute(kernel(), settings_, kernel_settings_, constant_bytes_, attribute_id);
  if (!value) return CUDA_ERROR_INVALID_VALUE;
  out = *value;
  return CUDA_SUCCESS;
}

CUresult function::set(CUfunction_attribute attribute_id, int value) noexcept {
  return set_attribute(kernel(), settings_, attribute_id, value);
}

int function::value_of(CUfunction_attribute attribute_id) const noexcept {
  return effective_value(kernel(), settings_, kernel_settings_, constant_bytes_, attribute_id);
}

CUfunc_cache function::cache_config() const noexcept {
  const CUfunc_cache preferred_config = settings_.cache_config();
  return preferred_config == CU_FUNC_CACHE_PREFER_NONE && kernel_settings_ != nullptr
             ? kernel_settings_->cache_config()
             : preferred_config;
}

weir_extent function::cluster() const noexcept {
  const auto size_in = [&](CUfunction_attribute attribute_id) {
    return static_cast<unsigned>(value_of(attribute_id));
  };
  return {size_in(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH),
          size_in(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT),
          size_in(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH)};
}

CUresult find_function(CUfunction handle, context* requested_context, function*& out) {
  process& p = this_process();
  function* found = p.functions.find(handle);
  if (found == nullptr && p.library_kernels.find(handle) != nullptr) {
    if (requested_context == nullptr) requested_context = this_thread().current();
    if (requested_context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    CUfunction kernel_function = nullptr;
    const CUresult status = libraries::get_function(reinterpret_cast<CUkernel>(handle),
                                                    requested_context->base(), &kernel_function);
    if (status != CUDA_SUCCESS) return status;
    found = p.functions.find(kernel_function);
  }
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  out = found;
  return found->owner().status();
}

}  // namespace weir::embedded::model
