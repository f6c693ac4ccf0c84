// SPDX-License-Identifier: Apache-2.0
// api/kernel/launch_failure.cpp - determines why a kernel launch failed, and checks its arguments.
#include "api/kernel/launch_failure.hpp"

#include "api/capture/capture_checks.hpp"
#include "api/capture/capture_invalidation.hpp"
#include "api/device/make_current.hpp"
#include "api/kernel/kernel_state.hpp"

#include <weir/kernel/launch.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace weir::detail {
namespace {

// Returns why the grid, block or shared memory in `config` is invalid for the kernel; empty if no
// reason is found. `query_attribute(id, fallback)` returns an attribute of the kernel.
template <class Query>
std::string invalid_shape_reason(const launch_config& config, const Query& query_attribute) {
  const auto product = [](const kernel_extent& e) { return 1ull * e.x * e.y * e.z; };
  if (product(config.grid) == 0 || product(config.block) == 0) {
    return "the grid or the block has an extent of 0; use at least 1 in each direction, or "
           "weir::grid(n), which launches nothing for 0 elements";
  }
  if (config.grid.x > 0x7fffffff || std::max(config.grid.y, config.grid.z) > 0xffff) {
    return fmt::format(
        "a grid of {} x {} x {} blocks exceeds 2147483647 x 65535 x 65535; use a smaller "
        "grid",
        config.grid.x, config.grid.y, config.grid.z);
  }
  const unsigned long long threads = product(config.block);
  const unsigned long long max_threads =
      query_attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, threads);
  if (threads > max_threads) {
    return fmt::format(
        "a block of {} threads exceeds this kernel's maximum of {}; use smaller blocks", threads,
        max_threads);
  }
  if (config.shared_bytes == 0) return {};
  const unsigned long long max_shared =
      query_attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, config.shared_bytes);
  if (config.shared_bytes > max_shared) {
    return fmt::format(
        "{} bytes of dynamic shared memory exceed this kernel's maximum of {}; raise it "
        "with kernel::set_max_dynamic_shared()",
        config.shared_bytes, max_shared);
  }
  return {};
}

std::string invalid_value_reason(const launch_config& config, const kernel& target) {
  // Returns an attribute of the kernel, or `fallback` if the query fails.
  const auto query = [&](CUfunction_attribute attribute_id, unsigned long long fallback) {
    int value = 0;
    const CUresult answer = driver().cuFuncGetAttribute(&value, attribute_id, target.get());
    return answer == CUDA_SUCCESS ? static_cast<unsigned long long>(value) : fallback;
  };
  std::string reason = invalid_shape_reason(config, query);
  if (!reason.empty()) return reason;
  return "the grid, block, cluster or shared memory exceeds the device's limits, or the "
         "grid is not a multiple of the cluster; use a smaller launch, or round the grid "
         "up";
}

std::string launch_hint(errc answer, const launch_config& config, const kernel& target) {
  switch (answer) {
    case errc::invalid_value: return invalid_value_reason(config, target);
    case errc::invalid_handle:
    case errc::invalid_context:
      return "the stream belongs to another context than the kernel; use a stream of the "
             "kernel's context, or make that context current for a default stream";
    case errc::launch_out_of_resources:
      return "the threads of a block need more registers than the device has; use smaller "
             "blocks (kernel::attributes().max_threads_per_block), or declare "
             "__launch_bounds__";
    case errc::cooperative_launch_too_large:
      return "the blocks of a cooperative launch do not all fit on the device at once; use at "
             "most kernel::max_cooperative_blocks()";
    case errc::invalid_cluster_size:
      return "the cluster is too large, does not divide the grid in each direction, or "
             "differs from the kernel's __cluster_dims__; use at most "
             "kernel::max_cluster_size() blocks (more than 8 need "
             "allow_non_portable_clusters()), and round the grid up";
    default: return {};
  }
}

}  // namespace

void throw_launch_error(errc answer, const char* call, stream_ref stream,
                        const launch_config& config, const kernel& target, call_site at) {
  // The kernel can only be queried in its own context.
  const make_current current{require_open(target, call, at).context, at};
  std::string hint = launch_hint(answer, config, target);
  if (hint.empty()) throw_driver_error(answer, call, stream, at);
  if (any_capture_active()) attribute_failure(answer, call, stream, at);  // as throw_driver_error()
  throw_error(answer, call, fmt::format("{} in {}", describe(target), to_text(stream)),
              std::move(hint), at);
}

void require_valid_shape(const char* call, stream_ref stream, const launch_config& config,
                         const kernel& target, call_site at) {
  const auto query = [&](CUfunction_attribute attribute_id, unsigned long long) {
    int value = 0;
    check(driver().cuFuncGetAttribute(&value, attribute_id, target.get()), "cuFuncGetAttribute",
          stream, at);
    return static_cast<unsigned long long>(value);
  };
  std::string reason = invalid_shape_reason(config, query);
  if (reason.empty()) return;
  throw_error(errc::invalid_value, call, fmt::format("{} in {}", describe(target), to_text(stream)),
              std::move(reason), at);
}

void throw_incomplete_cluster(const launch_config& config, const char* call, const kernel* target,
                              call_site at) {
  throw_error(errc::invalid_value, call, target != nullptr ? describe(*target) : "a kernel node",
              fmt::format("the cluster {{{}, {}, {}}} has an extent of 0; use at least 1 in each "
                          "direction, or 0 in each direction for no cluster",
                          config.cluster.x, config.cluster.y, config.cluster.z),
              at);
}

void throw_null_argument(call_site at) {
  throw_error(errc::invalid_value, "cuLaunchKernel", "a null pointer",
              "the shared pointer is empty; pass one that owns a buffer, or nullptr for a null "
              "address",
              at);
}

void check_arguments(const kernel& target, std::size_t count, const argument_shape* shapes,
                     const char* call, call_site at) {
  const kernel_info& info = require_open(target, call, at);
  if (info.parameter_count == unknown_parameter_count) return;
  if (info.parameter_count != count) {
    throw_error(
        errc::invalid_value, call, describe(target),
        fmt::format("the kernel takes {} arguments, and {} were given; pass one argument for each "
                    "parameter",
                    info.parameter_count, count),
        at);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const kernel_parameter& parameter = info.parameters[i];
    const argument_shape& argument = shapes[i];
    if (parameter.size != argument.size) {
      throw_error(
          errc::invalid_value, call, describe(target),
          fmt::format("parameter {} (of {}, from 0) takes {} bytes, and {} were given; convert the "
                      "argument to the parameter's type",
                      i, count, parameter.size, argument.size),
          at);
    }
    if (parameter.offset % argument.alignment != 0) {
      throw_error(
          errc::invalid_value, call, describe(target),
          fmt::format("parameter {} (of {}, from 0) is at offset {}, and the argument's type is "
                      "aligned to {} bytes; pass an argument of the parameter's type",
                      i, count, parameter.offset, argument.alignment),
          at);
    }
  }
}

}  // namespace weir::detail
