// api/kernel/kernel.cpp - what kernels are, and what is set of them.
#include <weir/core/to_string.hpp>
#include <weir/device/context.hpp>
#include <weir/graph/nodes/kernel_node.hpp>
#include <weir/kernel/kernel.hpp>

#include "api/capture/relaxed_capture_mode.hpp"
#include "api/device/make_current.hpp"
#include "api/graph/pointer_attributes.hpp"
#include "api/kernel/kernel_state.hpp"

#include <fmt/format.h>

#include <dlfcn.h>

namespace weir {

using detail::check;
using detail::describe;
using detail::driver;
using detail::require_open;
using detail::throw_error;

namespace detail {
namespace {

// A function of somebody else's, and what is known of it.
struct borrowed_function final : keep_alive {
  borrowed_function(CUfunction handle, CUcontext in, call_site at) : kernel_in{handle, in, at} {
    run = [](deferred_task& self) noexcept {
      delete static_cast<borrowed_function*>(&self);
      return task_result::done;
    };
  }
  kernel_state kernel_in;
};

void set_attribute(const kernel& what, CUfunction_attribute which, int value, const char* hint,
                   call_site at) {
  constexpr const char* call = "cuFuncSetAttribute";
  const kernel_state& state = require_open(what, call, at);
  const make_current current{state.context, at};
  const CUresult answer = driver().cuFuncSetAttribute(state.function, which, value);
  if (answer == CUDA_ERROR_INVALID_VALUE)
    throw_error(static_cast<errc>(answer), call, describe(what), hint, at);
  check(answer, call, {}, at);
}

}  // namespace

kernel_state::kernel_state(CUfunction handle, CUcontext in, call_site at)
    : kernel_info{handle, unknown_parameter_count, nullptr}, context{in} {
  constexpr const char* call = "cuFuncGetParamInfo";
  for (std::size_t i = 0;; ++i) {
    std::size_t offset = 0;
    std::size_t size = 0;
    const CUresult answer = driver().cuFuncGetParamInfo(handle, i, &offset, &size);
    if (answer == CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER) return;
    if (answer == CUDA_ERROR_INVALID_VALUE) break;  // there are no more
    check(answer, call, {}, at);
    parameter_list.push_back({static_cast<unsigned>(offset), static_cast<unsigned>(size)});
  }
  parameter_count = static_cast<unsigned>(parameter_list.size());
  parameters = parameter_list.data();
}

kernel_state& require_open(const kernel& what, const char* call, call_site at) {
  require_outside_host_function(call, {}, at);
  if (!what) [[unlikely]] {
    throw_error(errc::closed, call, "no kernel", "take it from a module, or from a function", at);
  }
  // All facts are part of a state, and only reading them is for everybody.
  return const_cast<kernel_state&>(static_cast<const kernel_state&>(*what.info()));
}

std::string linker_name_of(CUfunction function) noexcept {
  const char* name = nullptr;
  return driver().cuFuncGetName(&name, function) == CUDA_SUCCESS && name != nullptr ? name : "";
}

std::string describe(const kernel& what) {
  if (!what) return "no kernel";
  const std::string name = linker_name_of(what.get());
  return name.empty() ? fmt::format("kernel {}", fmt::ptr(what.get()))
                      : fmt::format("kernel \"{}\"", name);
}

}  // namespace detail

kernel kernel::from(CUfunc_st* function, call_site at) {
  constexpr const char* call = "cuFuncGetParamInfo";
  detail::require_outside_host_function(call, {}, at);
  if (function == nullptr)
    throw_error(errc::invalid_handle, call, "null", "there is no function", at);
  CUctx_st* const context = detail::default_node_context(at);
  const detail::make_current current{context, at};
  auto* const known = new detail::borrowed_function{function, context, at};
  return kernel{known->kernel_in, detail::keep_alive_ref{*known}};
}

kernel kernel::from_symbol(const void* symbol, detail::function_by_symbol find, call_site at) {
  constexpr const char* call = "cudaGetFuncBySymbol";
  detail::require_outside_host_function(call, {}, at);
  if (symbol == nullptr) throw_error(errc::invalid_value, call, "null", "there is no function", at);
  if (find == nullptr) {
    find = reinterpret_cast<detail::function_by_symbol>(
        ::dlsym(RTLD_DEFAULT, call));  // loaded later, perhaps
  }
  if (find == nullptr) {
    throw_error(errc::not_supported, call, "a function of this program",
                "the CUDA runtime is not part of this program; compile and link it with nvcc, or "
                "load the kernel from a module",
                at);
  }
  if (weir::device{}.is_embedded()) {
    throw_error(
        errc::not_supported, call, "a function of this program",
        "nvcc compiles for GPUs; on an embedded device kernels come from source (weir::program)",
        at);
  }
  CUfunc_st* function = nullptr;
  const int answer = find(&function, symbol);
  if (answer != 0) {
    throw_error(static_cast<errc>(answer), call, "a function of this program",
                "it has to be a __global__ function of code that was compiled for this device", at);
  }
  return from(function, at);
}

std::string kernel::name(call_site at) const {
  constexpr const char* call = "cuFuncGetName";
  const detail::kernel_state& state = require_open(*this, call, at);
  const detail::make_current current{state.context, at};
  const char* text = nullptr;
  check(driver().cuFuncGetName(&text, state.function), call, {}, at);
  return text;
}

kernel_attributes kernel::attributes(call_site at) const {
  constexpr const char* call = "cuFuncGetAttribute";
  const detail::kernel_state& state = require_open(*this, call, at);
  const detail::make_current current{state.context, at};
  const auto value = [&](abi::CUfunction_attribute which) {
    int answer = 0;
    check(driver().cuFuncGetAttribute(&answer, which, state.function), call, {}, at);
    return answer;
  };
  const auto count = [&](abi::CUfunction_attribute which) {
    return static_cast<unsigned>(value(which));
  };
  return {.max_threads_per_block = value(abi::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
          .registers = value(abi::CU_FUNC_ATTRIBUTE_NUM_REGS),
          .shared_bytes = value(abi::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
          .constant_bytes = value(abi::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES),
          .local_bytes = value(abi::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
          .ptx_version = value(abi::CU_FUNC_ATTRIBUTE_PTX_VERSION),
          .binary_version = value(abi::CU_FUNC_ATTRIBUTE_BINARY_VERSION),
          .max_dynamic_shared_bytes = value(abi::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES),
          .shared_carveout = value(abi::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT),
          .cluster = {count(abi::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH),
                      count(abi::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT),
                      count(abi::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH)},
          .cluster_size_must_be_set = value(abi::CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET) != 0,
          .non_portable_cluster_allowed =
              value(abi::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) != 0};
}

std::vector<kernel_parameter> kernel::parameters(call_site at) const {
  constexpr const char* call = "cuFuncGetParamInfo";
  const detail::kernel_state& state = require_open(*this, call, at);
  if (state.parameter_count == detail::unknown_parameter_count) {
    throw_error(errc::call_requires_newer_driver, call, describe(*this), {}, at);
  }
  return state.parameter_list;
}

void kernel::set_max_dynamic_shared(unsigned bytes, call_site at) const {
  detail::set_attribute(
      *this, abi::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(bytes),
      "with the static shared memory it has to be at most what the device lends a block", at);
}

void kernel::set_shared_carveout(int percent, call_site at) const {
  detail::set_attribute(*this, abi::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, percent,
                        "it is from 0 to 100 percent, or -1", at);
}

void kernel::allow_non_portable_clusters(bool allowed, call_site at) const {
  detail::set_attribute(*this, abi::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                        allowed ? 1 : 0, "the device has no clusters", at);
}

void kernel::set_cache(cache_preference preference, call_site at) const {
  constexpr const char* call = "cuFuncSetCacheConfig";
  const detail::kernel_state& state = require_open(*this, call, at);
  const detail::make_current current{state.context, at};
  check(driver().cuFuncSetCacheConfig(state.function, static_cast<abi::CUfunc_cache>(preference)),
        call, {}, at);
}

device kernel::device(call_site at) const {
  return context_ref{require_open(*this, "cuCtxGetDevice", at).context}.device(at);
}

}  // namespace weir
