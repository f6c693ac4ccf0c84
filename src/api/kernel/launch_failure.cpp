// api/kernel/launch_failure.cpp - why a kernel cannot be launched so: its arguments, or what the
// driver says.
#include "api/kernel/launch_failure.hpp"

#include "api/capture/captures.hpp"
#include "api/device/make_current.hpp"
#include "api/kernel/kernel_state.hpp"

#include <weir/kernel/launch.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace weir::detail {
namespace {

// What of the shape no launch of the kernel has that `query_attribute` asks about; empty if nothing
// is known.
template <class Query>
std::string invalid_shape_reason(const launch_config& config, const Query& query_attribute) {
  const auto product = [](const kernel_extent& e) { return 1ull * e.x * e.y * e.z; };
  if (product(config.grid) == 0 || product(config.block) == 0) {
    return "grid and block have at least 1 in each direction; weir::grid(n) launches nothing for "
           "no elements";
  }
  if (config.grid.x > 0x7fffffff || std::max(config.grid.y, config.grid.z) > 0xffff) {
    return "a grid has at most 2147483647 blocks in the first direction, and 65535 in the others";
  }
  const unsigned long long threads = product(config.block);
  const unsigned long long max_threads =
      query_attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, threads);
  if (threads > max_threads) {
    return fmt::format("blocks of {} threads are asked for, and this kernel has at most {}",
                       threads, max_threads);
  }
  if (config.shared_bytes == 0) return {};
  const unsigned long long max_shared =
      query_attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, config.shared_bytes);
  if (config.shared_bytes > max_shared) {
    return fmt::format(
        "{} bytes of dynamic shared memory are asked for, and this kernel may have {}: "
        "kernel::set_max_dynamic_shared()",
        config.shared_bytes, max_shared);
  }
  return {};
}

std::string invalid_value_reason(const launch_config& config, const kernel& what) {
  // What the driver has of the kernel, if it tells.
  const auto query = [&](CUfunction_attribute which, unsigned long long otherwise) {
    int value = 0;
    const CUresult answer = driver().cuFuncGetAttribute(&value, which, what.get());
    return answer == CUDA_SUCCESS ? static_cast<unsigned long long>(value) : otherwise;
  };
  std::string why = invalid_shape_reason(config, query);
  if (!why.empty()) return why;
  return "grid, block, cluster and shared memory have to be what the device can do; the grid is a "
         "multiple of the "
         "cluster";
}

std::string launch_hint(errc answer, const launch_config& config, const kernel& what) {
  switch (answer) {
    case errc::invalid_value: return invalid_value_reason(config, what);
    case errc::invalid_handle:
    case errc::invalid_context:
      return "the stream has to be of the kernel's context; a default stream is of the context "
             "that is current";
    case errc::launch_out_of_resources:
      return "the threads of a block need more registers than there are: take smaller blocks "
             "(kernel::attributes().max_threads_per_block), or say __launch_bounds__";
    case errc::cooperative_launch_too_large:
      return "all blocks of a cooperative launch run at the same time; "
             "kernel::max_cooperative_blocks() tells how many "
             "can";
    case errc::invalid_cluster_size:
      return "the grid is a multiple of the cluster, in each direction; a kernel with "
             "__cluster_dims__ has that "
             "cluster "
             "and no other; kernel::max_cluster_size() tells how many blocks a cluster can have, "
             "and "
             "allow_non_portable_clusters() allows more than 8";
    default: return {};
  }
}

}  // namespace

void throw_launch_error(errc answer, const char* call, stream_ref stream,
                        const launch_config& config, const kernel& what, call_site at) {
  const make_current current{require_open(what, call, at).context,
                             at};  // where the kernel can be asked
  std::string hint = launch_hint(answer, config, what);
  if (hint.empty()) throw_driver_error(answer, call, stream, at);
  if (any_capture_active()) attribute_failure(answer, call, stream, at);
  throw_error(answer, call, fmt::format("{} in {}", describe(what), to_text(stream)),
              std::move(hint), at);
}

void require_valid_shape(const char* call, stream_ref stream, const launch_config& config,
                         const kernel& what, call_site at) {
  const auto query = [&](CUfunction_attribute which, unsigned long long) {
    int value = 0;
    check(driver().cuFuncGetAttribute(&value, which, what.get()), "cuFuncGetAttribute", stream, at);
    return static_cast<unsigned long long>(value);
  };
  std::string why = invalid_shape_reason(config, query);
  if (why.empty()) return;
  throw_error(errc::invalid_value, call, fmt::format("{} in {}", describe(what), to_text(stream)),
              std::move(why), at);
}

void throw_incomplete_cluster(const launch_config& config, const char* call, const kernel* what,
                              call_site at) {
  throw_error(errc::invalid_value, call, what != nullptr ? describe(*what) : "a kernel node",
              fmt::format("a cluster of {{{}, {}, {}}} is asked for: it has at least 1 in each "
                          "direction, or 0 in each, which is none",
                          config.cluster.x, config.cluster.y, config.cluster.z),
              at);
}

void throw_null_argument(call_site at) {
  throw_error(errc::invalid_value, "cuLaunchKernel", "a null pointer",
              "the shared pointer has no buffer; for an address of null give the kernel nullptr",
              at);
}

void check_arguments(const kernel& what, std::size_t count, const argument_shape* shapes,
                     const char* call, call_site at) {
  const kernel_info& info = require_open(what, call, at);
  if (info.parameter_count == unknown_parameter_count) return;
  if (info.parameter_count != count) {
    throw_error(
        errc::invalid_value, call, describe(what),
        fmt::format("it takes {} arguments, and {} were given", info.parameter_count, count), at);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const kernel_parameter& parameter = info.parameters[i];
    const argument_shape& argument = shapes[i];
    if (parameter.size != argument.size) {
      throw_error(errc::invalid_value, call, describe(what),
                  fmt::format("parameter {} (of {}, from 0) takes {} bytes, and {} were given; "
                              "arguments are not converted",
                              i, count, parameter.size, argument.size),
                  at);
    }
    if (parameter.offset % argument.alignment != 0) {
      throw_error(errc::invalid_value, call, describe(what),
                  fmt::format("parameter {} (of {}, from 0) lies at offset {}, and what was given "
                              "is aligned to {} bytes: it is "
                              "another type",
                              i, count, parameter.offset, argument.alignment),
                  at);
    }
  }
}

}  // namespace weir::detail
