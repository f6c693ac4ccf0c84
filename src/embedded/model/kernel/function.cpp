// model/function.cpp - functions and their attributes.
#include "embedded/model/kernel/function.hpp"

#include <mutex>
#include <utility>

#include "embedded/model/core/device.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/core/thread_state.hpp"
#include "embedded/model/kernel/launch_limits.hpp"
#include "embedded/model/kernel/module.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

// The size of a cluster in a direction, as it was compiled.
unsigned compiled_cluster(const weir_kernel& of, CUfunction_attribute which) noexcept {
  switch (which) {
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH: return of.cluster.x;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT: return of.cluster.y;
    default: return of.cluster.z;
  }
}

int number(std::size_t value) noexcept { return static_cast<int>(value); }

// What a kernel was compiled for; false where there is no such attribute.
bool get_compiled_attribute(const weir_kernel& of, std::size_t constant_bytes,
                            CUfunction_attribute which, int& out) noexcept {
  switch (which) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: out = number(of.max_threads); return true;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: out = number(of.static_shared); return true;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: out = number(constant_bytes); return true;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: out = number(of.local_bytes); return true;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: out = number(limits::registers_per_thread); return true;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: out = limits::architecture; return true;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: out = 0; return true;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      out = of.static_shared < limits::shared_per_block
                ? number(limits::shared_per_block - of.static_shared)
                : 0;
      return true;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      out = CU_SHAREDMEM_CARVEOUT_DEFAULT;
      return true;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: out = 0; return true;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      out = number(compiled_cluster(of, which));
      return true;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: out = 0; return true;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      out = CU_CLUSTER_SCHEDULING_POLICY_DEFAULT;
      return true;
  }
  return false;
}

}  // namespace

bool get_attribute(const weir_kernel& of, const function_settings& set,
                   const function_settings* fallback, std::size_t constant_bytes,
                   CUfunction_attribute which, int& out) noexcept {
  int compiled = 0;
  if (!get_compiled_attribute(of, constant_bytes, which, compiled)) return false;
  out = set.get(which);
  if (out == function_settings::unset && fallback != nullptr) out = fallback->get(which);
  if (out == function_settings::unset) out = compiled;
  return true;
}

CUresult set_attribute(const weir_kernel& of, function_settings& in, CUfunction_attribute which,
                       int value) noexcept {
  int least = 0;
  int most = INT_MAX;
  switch (which) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      most = number(limits::shared_per_block_opt_in) - number(of.static_shared);
      break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      least = CU_SHAREDMEM_CARVEOUT_DEFAULT;
      most = CU_SHAREDMEM_CARVEOUT_MAX_SHARED;
      break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      if (compiled_cluster(of, which) != 0) return CUDA_ERROR_INVALID_VALUE;
      break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: value = value != 0 ? 1 : 0; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      most = CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING;
      break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  if (value < least || value > most) return CUDA_ERROR_INVALID_VALUE;
  in.set(which, value);
  return CUDA_SUCCESS;
}

void function::open(loaded_module& in, const weir_kernel& kernel,
                    const function_settings* of_kernel) noexcept {
  owner_ = in.owner;
  in_ = &in;
  kernel_.store(&kernel, std::memory_order_relaxed);
  constant_bytes_.store(in.image->constant_bytes(), std::memory_order_relaxed);
  loaded_.store(false, std::memory_order_relaxed);
  settings_.clear();
  of_kernel_ = of_kernel;
  open_.store(true);
  const std::lock_guard lock{lock_};
  image_ = in.image;
}

// The image may end here, and takes its time: not with the lock held.
void function::close() noexcept {
  std::shared_ptr<const module_image> ended;
  open_.store(false);
  const std::lock_guard lock{lock_};
  ended.swap(image_);
}

std::shared_ptr<const module_image> function::image() const noexcept {
  const std::lock_guard lock{lock_};
  return image_;
}

CUresult function::attribute(CUfunction_attribute which, int& out) const noexcept {
  const std::shared_ptr<const module_image> has = image();
  if (!has) return CUDA_ERROR_INVALID_HANDLE;
  switch (which) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      if (!loaded()) return CUDA_ERROR_FUNCTION_NOT_LOADED;
      break;
    default: break;
  }
  const bool known = get_attribute(kernel(), settings_, of_kernel_, constant_bytes_, which, out);
  return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult function::set(CUfunction_attribute which, int value) noexcept {
  const std::shared_ptr<const module_image> has = image();
  return has ? set_attribute(kernel(), settings_, which, value) : CUDA_ERROR_INVALID_HANDLE;
}

int function::value_of(CUfunction_attribute which) const noexcept {
  int out = 0;
  (void)get_attribute(kernel(), settings_, of_kernel_, constant_bytes_, which, out);
  return out;
}

CUfunc_cache function::cache_config() const noexcept {
  const CUfunc_cache own = settings_.cache_config();
  return own == CU_FUNC_CACHE_PREFER_NONE && of_kernel_ != nullptr ? of_kernel_->cache_config()
                                                                   : own;
}

weir_extent function::cluster() const noexcept {
  const auto in = [&](CUfunction_attribute which) {
    return static_cast<unsigned>(value_of(which));
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
