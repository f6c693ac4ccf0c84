// SPDX-License-Identifier: Apache-2.0
// api/kernel/kernel.cpp - kernels: where they come from, their attributes and their occupancy.
#include <weir/core/to_string.hpp>
#include <weir/device/context.hpp>
#include <weir/graph/nodes/kernel_node.hpp>
#include <weir/kernel/kernel.hpp>

#include "api/capture/relaxed_capture_guard.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"
#include "api/kernel/kernel_state.hpp"
#include "api/kernel/launch_attributes.hpp"
#include "api/kernel/launch_failure.hpp"

#include <fmt/format.h>

#include <dlfcn.h>

#include <algorithm>

namespace weir {

using detail::check;
using detail::describe;
using detail::driver;
using detail::require_open;
using detail::throw_error;

namespace detail {
namespace {

void set_attribute(const kernel& target, CUfunction_attribute attribute_id, int value,
                   const char* hint, call_site at) {
  constexpr const char* call = "cuFuncSetAttribute";
  const kernel_state& state = require_open(target, call, at);
  const make_current current{state.context, at};
  const CUresult answer = driver().cuFuncSetAttribute(state.function, attribute_id, value);
  if (answer == CUDA_ERROR_INVALID_VALUE)
    throw_error(static_cast<errc>(answer), call, describe(target), hint, at);
  check(answer, call, {}, at);
}

// Calls a function of the driver that returns a number for a launch with clusters.
unsigned query_clusters(const kernel& target, const launch_config& config, const char* call,
                        CUresult (*driver_table::*query)(int*, CUfunction, const CUlaunchConfig*),
                        call_site at) {
  const kernel_state& state = require_open(target, call, at);
  require_complete_cluster(config, call, &target, at);
  const make_current current{state.context, at};
  launch_attributes attributes{config};
  const CUlaunchConfig raw = attributes.driver_config(config, nullptr);
  int number = 0;
  check((driver().*query)(&number, state.function, &raw), call, {}, at);
  return static_cast<unsigned>(number);
}

}  // namespace

kernel_state::kernel_state(CUfunction handle, CUcontext owner_context, call_site at)
    : kernel_info{handle, unknown_parameter_count, nullptr}, context{owner_context} {
  constexpr const char* call = "cuFuncGetParamInfo";
  for (std::size_t i = 0;; ++i) {
    std::size_t offset = 0;
    std::size_t size = 0;
    const CUresult answer = driver().cuFuncGetParamInfo(handle, i, &offset, &size);
    if (answer == CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER) return;  // the count stays unknown
    if (answer == CUDA_ERROR_INVALID_VALUE) break;                // no more parameters
    check(answer, call, {}, at);
    parameter_list.push_back({static_cast<unsigned>(offset), static_cast<unsigned>(size)});
  }
  parameter_count = static_cast<unsigned>(parameter_list.size());
  parameters = parameter_list.data();
}

kernel_state& require_open(const kernel& target, const char* call, call_site at) {
  require_outside_host_function(call, {}, at);
  if (!target) [[unlikely]] {
    throw_error(errc::closed, call, "no kernel",
                "the kernel is empty; take one from a module (module::kernel) or from a function "
                "(kernel::from_function)",
                at);
  }
  // Every kernel_info is the base of a kernel_state, which is not const. kernel::info() only
  // returns it as const.
  return const_cast<kernel_state&>(static_cast<const kernel_state&>(*target.info()));
}

std::string describe(const kernel& target) {
  if (!target) return "no kernel";
  const char* name = nullptr;
  const CUresult answer = driver().cuFuncGetName(&name, target.get());
  const bool has_name = answer == CUDA_SUCCESS && name != nullptr && *name != '\0';
  return has_name ? fmt::format("kernel \"{}\"", name)
                  : fmt::format("kernel {}", fmt::ptr(target.get()));
}

}  // namespace detail

kernel kernel::from_function(CUfunc_st* function, call_site at) {
  constexpr const char* call = "cuFuncGetParamInfo";
  detail::require_outside_host_function(call, {}, at);
  if (function == nullptr)
    throw_error(errc::invalid_handle, call, "null", "the function is null; pass a function", at);
  CUctx_st* const context = detail::current_or_primary_context(at);
  const detail::make_current current{context, at};
  auto* const state = new detail::keep_alive_box<detail::kernel_state>{function, context, at};
  return kernel{state->value, detail::keep_alive_ref{*state}};
}

kernel kernel::from_symbol(const void* symbol, detail::function_by_symbol find, call_site at) {
  constexpr const char* call = "cudaGetFuncBySymbol";
  detail::require_outside_host_function(call, {}, at);
  if (symbol == nullptr)
    throw_error(errc::invalid_value, call, "null", "the function is null; pass a function", at);
  if (find == nullptr) {
    // `find` is null if the program is not linked with the CUDA runtime. A library may have loaded
    // the runtime meanwhile.
    find = reinterpret_cast<detail::function_by_symbol>(::dlsym(RTLD_DEFAULT, call));
  }
  if (find == nullptr) {
    throw_error(errc::not_supported, call, "a function of this program",
                "the program does not contain the CUDA runtime; compile and link it with nvcc, "
                "or load the kernel from a module",
                at);
  }
  if (weir::device{}.is_embedded()) {
    throw_error(errc::not_supported, call, "a function of this program",
                "functions compiled by nvcc run only on GPUs; on an embedded device compile the "
                "kernel from source (weir::program)",
                at);
  }
  CUfunc_st* function = nullptr;
  const int answer = find(&function, symbol);
  if (answer != 0) {
    throw_error(static_cast<errc>(answer), call, "a function of this program",
                "the symbol is not a __global__ function that was compiled for this device; pass "
                "a kernel, and compile it for the device's architecture",
                at);
  }
  return from_function(function, at);
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
  const auto value = [&](abi::CUfunction_attribute attribute_id) {
    int answer = 0;
    check(driver().cuFuncGetAttribute(&answer, attribute_id, state.function), call, {}, at);
    return answer;
  };
  const auto count = [&](abi::CUfunction_attribute attribute_id) {
    return static_cast<unsigned>(value(attribute_id));
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
      "static plus dynamic shared memory exceeds the device's limit for a block; set a "
      "smaller size",
      at);
}

void kernel::set_shared_carveout(int percent, call_site at) const {
  detail::set_attribute(
      *this, abi::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, percent,
      "the carveout is outside 0 to 100 percent; use a value in that range, or -1 for "
      "the driver's choice",
      at);
}

void kernel::allow_non_portable_clusters(bool allowed, call_site at) const {
  detail::set_attribute(*this, abi::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                        allowed ? 1 : 0,
                        "the device has no clusters; launch the kernel without a cluster", at);
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

unsigned kernel::max_active_blocks(unsigned threads, unsigned shared_bytes, call_site at) const {
  constexpr const char* call = "cuOccupancyMaxActiveBlocksPerMultiprocessor";
  const detail::kernel_state& state = require_open(*this, call, at);
  const detail::make_current current{state.context, at};
  int blocks = 0;
  const abi::CUresult answer = driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, state.function, static_cast<int>(threads), shared_bytes);
  check(answer, call, {}, at);
  return static_cast<unsigned>(blocks);
}

unsigned kernel::max_cooperative_blocks(unsigned threads, unsigned shared_bytes,
                                        call_site at) const {
  const unsigned each = max_active_blocks(threads, shared_bytes, at);
  return each *
         static_cast<unsigned>(device(at).attribute(device_attribute::multiprocessor_count, at));
}

block_suggestion kernel::suggest_block(unsigned shared_bytes, unsigned max_threads,
                                       call_site at) const {
  constexpr const char* call = "cuOccupancyMaxPotentialBlockSize";
  const detail::kernel_state& state = require_open(*this, call, at);
  const detail::make_current current{state.context, at};
  int blocks = 0;
  int threads = 0;
  check(driver().cuOccupancyMaxPotentialBlockSize(&blocks, &threads, state.function, nullptr,
                                                  shared_bytes, static_cast<int>(max_threads)),
        call, {}, at);
  return {static_cast<unsigned>(threads), static_cast<unsigned>(blocks)};
}

std::size_t kernel::available_dynamic_shared(unsigned blocks, unsigned threads,
                                             call_site at) const {
  constexpr const char* call = "cuOccupancyAvailableDynamicSMemPerBlock";
  const detail::kernel_state& state = require_open(*this, call, at);
  const detail::make_current current{state.context, at};
  std::size_t bytes = 0;
  check(driver().cuOccupancyAvailableDynamicSMemPerBlock(
            &bytes, state.function, static_cast<int>(blocks), static_cast<int>(threads)),
        call, {}, at);
  return bytes;
}

unsigned kernel::max_cluster_size(const launch_config& config, call_site at) const {
  return detail::query_clusters(*this, config, "cuOccupancyMaxPotentialClusterSize",
                                &detail::driver_table::cuOccupancyMaxPotentialClusterSize, at);
}

unsigned kernel::max_active_clusters(const launch_config& config, call_site at) const {
  return detail::query_clusters(*this, config, "cuOccupancyMaxActiveClusters",
                                &detail::driver_table::cuOccupancyMaxActiveClusters, at);
}

launch_config kernel::config_for(const element_count& elements, call_site at) const {
  constexpr std::size_t max_blocks = 0x7fffffff;
  unsigned threads = elements.block;
  if (threads == 0) {
    detail::kernel_state& state = require_open(*this, "cuOccupancyMaxPotentialBlockSize", at);
    const bool is_cacheable = elements.shared_bytes == 0;
    threads = is_cacheable ? state.best_block.load(std::memory_order_relaxed) : 0;
    if (threads == 0) {
      threads = std::max(suggest_block(elements.shared_bytes, 0, at).threads, 1u);
      if (is_cacheable) state.best_block.store(threads, std::memory_order_relaxed);
    }
  }
  const std::size_t blocks = elements.size / threads + (elements.size % threads != 0 ? 1 : 0);
  if (blocks > max_blocks) [[unlikely]] {
    throw_error(
        errc::invalid_value, "cuLaunchKernel", describe(*this),
        fmt::format("{} elements need {} blocks of {} threads, and a grid has at most {} blocks in "
                    "the x direction; process several elements in each thread",
                    elements.size, blocks, threads, max_blocks),
        at);
  }
  return {.grid = {static_cast<unsigned>(blocks)},
          .block = {threads},
          .shared_bytes = elements.shared_bytes};
}

}  // namespace weir
