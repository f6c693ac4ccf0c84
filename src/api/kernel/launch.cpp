// SPDX-License-Identifier: Apache-2.0
// api/kernel/launch.cpp - kernel launches in stream order.
#include <weir/kernel/launch.hpp>

#include "api/capture/capture_checks.hpp"
#include "api/capture/capture_registry.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"
#include "api/graph/node_metadata.hpp"
#include "api/kernel/kernel_state.hpp"
#include "api/kernel/launch_attributes.hpp"
#include "api/kernel/launch_failure.hpp"
#include "api/memory/operand.hpp"
#include "api/stream/direct_driver.hpp"

#include <optional>
#include <span>
#include <vector>

namespace weir::detail {
namespace {

// Returns the owners that a graph must keep alive for a captured launch: the module of the kernel,
// and the owners of the arguments. Some of them may be null.
std::vector<keep_alive_ref> owners_of(const kernel& target, const argument_list& arguments) {
  std::vector<keep_alive_ref> owners;
  owners.reserve(arguments.size + 1);
  owners.push_back(target.owner());
  for (std::size_t i = 0; i < arguments.size; ++i)
    owners.push_back(arguments.keep[i](arguments.arguments[i]));
  return owners;
}

CUresult call_launch(CUstream stream, const launch_config& config, CUfunction function,
                     void** values) {
  if (config.is_plain()) {
    return driver().cuLaunchKernel(function, config.grid.x, config.grid.y, config.grid.z,
                                   config.block.x, config.block.y, config.block.z,
                                   config.shared_bytes, stream, values, nullptr);
  }
  launch_attributes attributes{config};
  const CUlaunchConfig raw = attributes.driver_config(config, stream);
  return driver().cuLaunchKernelEx(&raw, function, values, nullptr);
}

}  // namespace

bool is_address_untracked(const void* address, CUstream stream) noexcept {
  const tracked_memory* const owner = find_allocation(address);
  return owner == nullptr || owner->is_untracked_on(stream);
}

direct_status launch_directly(const kernel_info& target, const launch_config& config,
                              CUstream stream, void** values) {
  const driver_table* const driver = direct_driver_outside_captures();
  if (driver == nullptr || !is_open(stream) || !config.is_plain()) [[unlikely]] {
    return direct_status::not_called;
  }
  return static_cast<direct_status>(driver->cuLaunchKernel(
      target.function, config.grid.x, config.grid.y, config.grid.z, config.block.x, config.block.y,
      config.block.z, config.shared_bytes, stream, values, nullptr));
}

void launch_slow(stream_ref stream, const launch_config& config, const launched_kernel& launched,
                 const argument_list& arguments, direct_status status) {
  const call_site at = launched.at();
  const kernel& target = launched.target();
  const char* const call = config.is_plain() ? "cuLaunchKernel" : "cuLaunchKernelEx";
  // errc::invalid_context may mean that the thread has no current context. The launch is then tried
  // again with the context of the kernel.
  if (status != direct_status::not_called && to_errc(status) != errc::invalid_context) {
    throw_launch_error(to_errc(status), call, stream, config, target, at);
  }
  const CUstream handle = require_open(stream, call, at);
  check_arguments(target, arguments.size, arguments.shapes, call, at);
  require_complete_cluster(config, call, &target, at);
  const kernel_state& state = require_open(target, call, at);
  const abi::CUcontext thread_context = current_context_handle(at);
  const make_current current{thread_context != nullptr ? thread_context : state.context, at};
  if (config.priority) check_priority(target.device(at), state.context, *config.priority, call, at);
  operand_list operands{stream};
  for (const region& memory : std::span{arguments.memory, arguments.size})
    operands.add(memory, call, at);

  stream_capture_info capture;
  if (any_capture_active()) capture = query_capture(handle, at);
  std::vector<keep_alive_ref> owners;
  std::optional<node_owners> graph_owners;
  if (capture.status == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
    // A captured launch does not run yet. The graph keeps the owners, since the caller may destroy
    // the arguments before the graph is launched.
    require_valid_shape(call, stream, config, target, at);
    owners = owners_of(target, arguments);
    graph_owners.emplace(capture.graph, owner_list{owners.data(), owners.size()}, at);
  }
  const CUresult answer = call_launch(handle, config, state.function, arguments.values);
  if (answer != CUDA_SUCCESS)
    throw_launch_error(static_cast<errc>(answer), call, stream, config, target, at);
  if (graph_owners) {
    graph_owners->keep();
  } else {
    operands.record_uses(at);
  }
}

}  // namespace weir::detail
