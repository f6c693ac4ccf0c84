// SPDX-License-Identifier: Apache-2.0
// model/kernel/function.cpp - functions and their attributes.
#include "embedded/model/kernel/function.hpp"

#include <mutex>
#include <utility>

#include "embedded/model/core/device.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/core/thread_state.hpp"
#include "embedded/model/kernel/launch_shape.hpp"
#include "embedded/model/kernel/module.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

// Returns the compiled cluster size in one dimension.
unsigned compiled_cluster(const weir_kernel& kernel_description,
                          CUfunction_attribute attribute_id) noexcept {
  switch (attribute_id) {
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH: return kernel_description.cluster.x;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT: return kernel_description.cluster.y;
    default: return kernel_description.cluster.z;
  }
}

int number(std::size_t value) noexcept { return static_cast<int>(value); }

// Gets an attribute as compiled. Returns false for an unknown attribute.
bool get_compiled_attribute(const weir_kernel& kernel_description, std::size_t constant_bytes,
                            CUfunction_attribute attribute_id, int& out) noexcept {
  switch (attribute_id) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      out = number(kernel_description.max_threads);
      return true;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      out = number(kernel_description.static_shared);
      return true;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: out = number(constant_bytes); return true;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      out = number(kernel_description.local_bytes);
      return true;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: out = number(limits::registers_per_thread); return true;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: out = limits::architecture; return true;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: out = 0; return true;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      out = kernel_description.static_shared < limits::shared_per_block
                ? number(limits::shared_per_block - kernel_description.static_shared)
                : 0;
      return true;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      out = CU_SHAREDMEM_CARVEOUT_DEFAULT;
      return true;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: out = 0; return true;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      out = number(compiled_cluster(kernel_description, attribute_id));
      return true;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: out = 0; return true;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      out = CU_CLUSTER_SCHEDULING_POLICY_DEFAULT;
      return true;
  }
  return false;
}

}  // namespace

bool get_attribute(const weir_kernel& kernel_description, const function_settings& set,
                   const function_settings* fallback, std::size_t constant_bytes,
                   CUfunction_attribute attribute_id, int& out) noexcept {
  int compiled = 0;
  if (!get_compiled_attribute(kernel_description, constant_bytes, attribute_id, compiled))
    return false;
  out = set.get(attribute_id);
  if (out == function_settings::unset && fallback != nullptr) out = fallback->get(attribute_id);
  if (out == function_settings::unset) out = compiled;
  return true;
}

CUresult set_attribute(const weir_kernel& kernel_description, function_settings& in,
                       CUfunction_attribute attribute_id, int value) noexcept {
  int least = 0;
  int maximum = INT_MAX;
  switch (attribute_id) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      maximum = number(limits::shared_per_block_opt_in) - number(kernel_description.static_shared);
      break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      least = CU_SHAREDMEM_CARVEOUT_DEFAULT;
      maximum = CU_SHAREDMEM_CARVEOUT_MAX_SHARED;
      break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      if (compiled_cluster(kernel_description, attribute_id) != 0) return CUDA_ERROR_INVALID_VALUE;
      break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: value = value != 0 ? 1 : 0; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      maximum = CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING;
      break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  if (value < least || value > maximum) return CUDA_ERROR_INVALID_VALUE;
  in.set(attribute_id, value);
  return CUDA_SUCCESS;
}

void function::open(loaded_module& in, const weir_kernel& kernel,
                    const function_settings* kernel_settings) noexcept {
  owner_ = in.owner;
  in_ = &in;
  kernel_.store(&kernel, std::memory_order_relaxed);
  constant_bytes_.store(in.image->constant_bytes(), std::memory_order_relaxed);
  loaded_.store(false, std::memory_order_relaxed);
  settings_.clear();
  kernel_settings_ = kernel_settings;
  open_.store(true);
  const std::lock_guard lock{lock_};
  image_ = in.image;
}

// Releases the image without the lock, because unloading it takes long.
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
  const std::shared_ptr<const module_image> current_image = image();
  if (!current_image) return CUDA_ERROR_INVALID_HANDLE;
  switch (attribute_id) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      if (!loaded()) return CUDA_ERROR_FUNCTION_NOT_LOADED;
      break;
    default: break;
  }
  const bool is_valid =
      get_attribute(kernel(), settings_, kernel_settings_, constant_bytes_, attribute_id, out);
  return is_valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult function::set(CUfunction_attribute attribute_id, int value) noexcept {
  const std::shared_ptr<const module_image> current_image = image();
  return current_image ? set_attribute(kernel(), settings_, attribute_id, value)
                       : CUDA_ERROR_INVALID_HANDLE;
}

int function::value_of(CUfunction_attribute attribute_id) const noexcept {
  int out = 0;
  (void)get_attribute(kernel(), settings_, kernel_settings_, constant_bytes_, attribute_id, out);
  return out;
}

CUfunc_cache function::cache_config() const noexcept {
  const CUfunc_cache preferred_config = settings_.cache_config();
  return preferred_config == CU_FUNC_CACHE_PREFER_NONE && kernel_settings_ != nullptr
             ? kernel_settings_->cache_config()
             : preferred_config;
}

weir_extent function::cluster() const noexcept {
  const auto in = [&](CUfunction_attribute attribute_id) {
    return static_cast<unsigned>(value_of(attribute_id));
  };
  return {in(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH),
          in(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT),
          in(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH)};
}

CUresult find_function(CUfunction handle, context* in, function*& out) {
  process& p = this_process();
  function* found = p.functions.find(handle);
  if (found == nullptr && p.library_kernels.find(handle) != nullptr) {
    if (in == nullptr) in = this_thread().current();
    if (in == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    CUfunction its = nullptr;
    const CUresult status =
        libraries::get_function(reinterpret_cast<CUkernel>(handle), in->base(), &its);
    if (status != CUDA_SUCCESS) return status;
    found = p.functions.find(its);
  }
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  out = found;
  return found->owner().status();
}

}  // namespace weir::embedded::model
