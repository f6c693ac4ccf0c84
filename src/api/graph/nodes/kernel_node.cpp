// SPDX-License-Identifier: Apache-2.0
// api/graph/nodes/kernel_node.cpp - nodes that run kernels.
#include <weir/graph/nodes/kernel_node.hpp>

#include "api/core/first_failure.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"
#include "api/graph/node_calls.hpp"
#include "api/kernel/kernel_state.hpp"
#include "api/kernel/launch_attributes.hpp"
#include "api/kernel/launch_failure.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstring>
#include <vector>

namespace weir {

using detail::driver;

namespace detail {
namespace {

// Copies of the arguments of a kernel node, pointers to these copies for the driver, and the owners
// of the arguments.
struct argument_copies {
  std::vector<std::max_align_t> memory;
  std::vector<void*> values;
  std::vector<keep_alive_ref> owners;
  std::vector<region> used;  // memory arguments, and memory to which pointers point
};

const argument_copies& copies_in(const keep_alive_ref& box) noexcept {
  return static_cast<const keep_alive_box<argument_copies>*>(box.get())->value;
}

// Returns the size of an argument in units of std::max_align_t. Each argument starts at a new unit,
// so it is aligned for any type.
std::size_t aligned_units(const argument_shape& shape) noexcept {
  return (shape.size + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t);
}

}  // namespace

keep_alive_ref copied_arguments(const launched_kernel& launched, const argument_list& arguments) {
  constexpr const char* call = "cuGraphAddNode";
  const call_site at = launched.at();
  check_arguments(launched.target(), arguments.size, arguments.shapes, call, at);
  auto* const box = new keep_alive_box<argument_copies>;
  keep_alive_ref owner_of_copies{*box};
  argument_copies& copies = box->value;
  std::size_t units = 0;
  for (std::size_t i = 0; i < arguments.size; ++i) units += aligned_units(arguments.shapes[i]);
  copies.memory.resize(units);
  copies.values.reserve(arguments.size + 1);
  copies.owners.reserve(arguments.size + 1);
  units = 0;
  for (std::size_t i = 0; i < arguments.size; ++i) {
    const tracked_memory* const owner = arguments.memory[i].owner;
    if (owner != nullptr && owner->closed()) throw_closed(call, subject::memory(nullptr), at);
    void* const destination = copies.memory.data() + units;
    std::memcpy(destination, arguments.values[i], arguments.shapes[i].size);
    copies.values.push_back(destination);
    units += aligned_units(arguments.shapes[i]);
  }
  copies.used.assign(arguments.memory, arguments.memory + arguments.size);
  copies.values.push_back(nullptr);  // so that data() is not null without arguments
  copies.owners.push_back(launched.target().owner());
  for (std::size_t i = 0; i < arguments.size; ++i) {
    copies.owners.push_back(arguments.keep[i](arguments.arguments[i]));
  }
  return owner_of_copies;
}

void** values_in(const keep_alive_ref& copied) noexcept {
  return const_cast<void**>(copies_in(copied).values.data());
}

}  // namespace detail

namespace {

// Makes any context current around driver calls for kernel nodes. The driver takes the context of
// the node from the kernel function. Nevertheless an H200's driver (580.159) crashes if no context
// is current.
class default_context {
 public:
  explicit default_context(call_site at) : current_{detail::current_or_primary_context(at), at} {}

 private:
  detail::make_current current_;
};

// Throws for a programmatic launch, which kernel nodes do not support, and for an incomplete
// cluster.
void throw_if_not_supported(const launch_config& config, call_site at) {
  detail::require_complete_cluster(config, "cuGraphAddNode", nullptr, at);
  if (!config.programmatic) return;
  detail::throw_error(errc::not_supported, "cuGraphAddNode", "a kernel node",
                      "a kernel node cannot be launched programmatically; use an edge with data "
                      "instead: graph_ref::add_dependency(from, to, data)",
                      at);
}

// Sets the launch options that are not node parameters. Does nothing for a plain launch.
void set_attributes(CUgraphNode_st* node, const launch_config& config, call_site at) {
  for (const abi::CUlaunchAttribute& attribute : detail::launch_attributes{config}) {
    detail::check(driver().cuGraphKernelNodeSetAttribute(node, attribute.id, &attribute.value),
                  "cuGraphKernelNodeSetAttribute", {}, at);
  }
}

abi::CUDA_KERNEL_NODE_PARAMS to_driver_params(const kernel_parameters& parameters,
                                              void** extra) noexcept {
  abi::CUDA_KERNEL_NODE_PARAMS p{};
  p.func = parameters.function();
  p.gridDimX = parameters.grid().x;
  p.gridDimY = parameters.grid().y;
  p.gridDimZ = parameters.grid().z;
  p.blockDimX = parameters.block().x;
  p.blockDimY = parameters.block().y;
  p.blockDimZ = parameters.block().z;
  p.sharedMemBytes = parameters.shared_bytes();
  p.kernelParams = parameters.arguments();
  p.extra = extra;
  return p;
}

}  // namespace

kernel_parameters kernel_node::parameters(call_site at) const {
  const default_context current{at};
  const auto p = detail::params_of(*this, "cuGraphKernelNodeGetParams",
                                   &detail::driver_table::cuGraphKernelNodeGetParams_v2, at);
  kernel_parameters parameters{p.func,
                               {p.gridDimX, p.gridDimY, p.gridDimZ},
                               {p.blockDimX, p.blockDimY, p.blockDimZ},
                               p.kernelParams,
                               p.sharedMemBytes};
  parameters.extra_ = p.extra;
  return parameters;
}

int kernel_node::priority(call_site at) const {
  const default_context current{at};
  constexpr const char* call = "cuGraphKernelNodeGetAttribute";
  const abi::CUgraphNode handle = detail::require_open(*this, call, at);
  abi::CUkernelNodeAttrValue value{};
  detail::check_read(driver().cuGraphKernelNodeGetAttribute(
                         handle, abi::CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &value),
                     call, *this, at);
  return value.priority;
}

void kernel_node::set_priority(int priority, call_site at) const {
  constexpr const char* call = "cuGraphKernelNodeSetAttribute";
  const default_context current{at};
  const abi::CUgraphNode handle = detail::require_open(*this, call, at);
  abi::CUkernelNodeAttrValue value{};
  value.priority = priority;
  detail::check_set(driver().cuGraphKernelNodeSetAttribute(
                        handle, abi::CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &value),
                    call, *this, node_kind::kernel, at);
}

void kernel_node::copy_attributes(kernel_node original, call_site at) const {
  constexpr const char* call = "cuGraphKernelNodeCopyAttributes";
  const abi::CUgraphNode source = detail::require_open(original, call, at);
  const default_context current{at};
  const abi::CUgraphNode target = detail::require_open(*this, call, at);
  detail::check_set(driver().cuGraphKernelNodeCopyAttributes(target, source), call, *this,
                    node_kind::kernel, at);
}

detail::owner_list kernel_parameters::owners() const noexcept {
  if (!copied_) return {};
  const std::vector<detail::keep_alive_ref>& owners = detail::copies_in(copied_).owners;
  return {owners.data(), owners.size()};
}

std::vector<detail::region> kernel_parameters::memory() const {
  return copied_ ? detail::copies_in(copied_).used : std::vector<detail::region>{};
}

CUgraphNode_st* kernel_parameters::add_to(detail::insertion_point point, call_site at) const {
  throw_if_not_supported(config_, at);
  abi::CUgraphNodeParams params{};
  params.type = abi::CU_GRAPH_NODE_TYPE_KERNEL;
  params.kernel = to_driver_params(*this, extra_);
  const default_context current{at};
  CUgraphNode_st* const added = detail::add_node(point, params, owners(), memory(), at);
  if (config_.is_plain()) return added;
  try {
    set_attributes(added, config_, at);
  } catch (...) {
    detail::report_failure_of(detail::subject::graph(point.graph), "cuGraphDestroyNode", [&] {
      graph_ref{point.graph}.remove(graph_node{added, point.graph}, at);
    });
    throw;
  }
  return added;
}

void kernel_parameters::set_in_graph(graph_node node, call_site at) const {
  throw_if_not_supported(config_, at);
  const abi::CUDA_KERNEL_NODE_PARAMS params = to_driver_params(*this, extra_);
  const default_context current{at};
  detail::note_node_memory(node, memory());
  detail::change_node(node, node_kind::kernel, owners(), "cuGraphKernelNodeSetParams",
                      &detail::driver_table::cuGraphKernelNodeSetParams_v2, &params, at);
  set_attributes(node.get(), config_, at);
}

// Sets no attributes, because an executable keeps those that it was instantiated with.
void kernel_parameters::set_in_exec(CUgraphExec_st* exec, graph_node node, call_site at) const {
  throw_if_not_supported(config_, at);
  const abi::CUDA_KERNEL_NODE_PARAMS params = to_driver_params(*this, extra_);
  const default_context current{at};
  detail::check_set_in_exec(driver().cuGraphExecKernelNodeSetParams_v2(exec, node.get(), &params),
                            "cuGraphExecKernelNodeSetParams", exec, node, node_kind::kernel, at);
}

}  // namespace weir
