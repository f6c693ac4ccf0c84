// api/kernel/launch.cpp - kernels run in stream order.
#include <weir/kernel/launch.hpp>

#include "api/capture/capture_registry.hpp"
#include "api/capture/captures.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"
#include "api/graph/node_owners.hpp"
#include "api/kernel/kernel_state.hpp"
#include "api/kernel/launch_attributes.hpp"
#include "api/kernel/launch_failure.hpp"
#include "api/stream/direct_driver.hpp"

#include <span>
#include <vector>

namespace weir::detail {
namespace {

// Around the launch: the streams on which buffers are used away from home.
class used_memory {
 public:
  used_memory(stream_ref stream, const argument_list& arguments, const char* call, call_site at)
      : stream_{stream} {
    for (const region& memory : std::span{arguments.memory, arguments.size}) {
      if (memory.owner == nullptr || memory.owner->is_untracked_on(stream)) continue;
      if (memory.owner->closed()) throw_closed(call, subject::memory(nullptr), at);
      if (memory.owner->register_use(stream, at)) to_record_.push_back(memory.owner);
    }
  }
  void queued(call_site at) const {
    for (const tracked_memory* const memory : to_record_) memory->record_use(stream_, at);
  }

 private:
  stream_ref stream_;
  std::vector<const tracked_memory*> to_record_;
};

// What the graph of a capture keeps for a launch: the module, and the owners among the arguments.
std::vector<keep_alive_ref> owners_of(const kernel& what, const argument_list& arguments) {
  std::vector<keep_alive_ref> owners;
  owners.reserve(arguments.size + 1);
  owners.push_back(what.owner());
  for (std::size_t i = 0; i < arguments.size; ++i)
    owners.push_back(arguments.keep[i](arguments.arguments[i]));
  return owners;
}

CUresult launch_in(CUstream stream, const launch_config& config, CUfunction function,
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

errc launch_directly(const kernel_info& what, const launch_config& config, CUstream stream,
                     void** values) {
  const driver_table* const driver = direct_driver_outside_captures();
  if (driver == nullptr || !is_open(stream) || !config.is_plain()) [[unlikely]] {
    return not_called;
  }
  return static_cast<errc>(driver->cuLaunchKernel(
      what.function, config.grid.x, config.grid.y, config.grid.z, config.block.x, config.block.y,
      config.block.z, config.shared_bytes, stream, values, nullptr));
}

void launch_slow(stream_ref stream, const launch_config& config, const launched_kernel& launched,
                 const argument_list& arguments, errc status) {
  const call_site at = launched.at();
  const kernel& what = launched.what();
  const char* const call = config.is_plain() ? "cuLaunchKernel" : "cuLaunchKernelEx";
  // A thread without a current context may have to be given the kernel's.
  if (status != not_called && status != errc::invalid_context) {
    throw_launch_error(status, call, stream, config, what, at);
  }
  const CUstream handle = require_open(stream, call, at);
  check_arguments(what, arguments.size, arguments.shapes, call, at);
  require_complete_cluster(config, call, &what, at);
  const kernel_state& state = require_open(what, call, at);
  const abi::CUcontext thread_context = current_context_handle(at);
  const make_current current{thread_context != nullptr ? thread_context : state.context, at};
  if (config.priority) check_priority(what.device(at), state.context, *config.priority, call, at);
  const used_memory used{stream, arguments, call, at};

  stream_capture_info part;
  if (any_capture_active()) part = query_capture(handle, at);
  if (part.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
    const CUresult answer = launch_in(handle, config, state.function, arguments.values);
    if (answer != CUDA_SUCCESS)
      throw_launch_error(static_cast<errc>(answer), call, stream, config, what, at);
    used.queued(at);
  } else {
    // What is captured is no work yet, and there may be nothing left of the arguments when the
    // graph has their owners.
    require_valid_shape(call, stream, config, what, at);
    const std::vector<keep_alive_ref> owners = owners_of(what, arguments);
    node_owners kept{part.graph, {owners.data(), owners.size()}, at};
    const CUresult answer = launch_in(handle, config, state.function, arguments.values);
    if (answer != CUDA_SUCCESS)
      throw_launch_error(static_cast<errc>(answer), call, stream, config, what, at);
    kept.keep();
  }
}

}  // namespace weir::detail
