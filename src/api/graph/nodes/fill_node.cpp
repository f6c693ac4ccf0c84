// SPDX-License-Identifier: Apache-2.0
// api/graph/nodes/fill_node.cpp - nodes that fill memory.
#include <weir/graph/nodes/fill_node.hpp>

#include "api/device/primary_context.hpp"
#include "api/graph/node_calls.hpp"
#include "api/graph/node_metadata.hpp"
#include "api/graph/pointer_attributes.hpp"

namespace weir {

using detail::driver;

namespace {

abi::CUDA_MEMSET_NODE_PARAMS to_driver_params(const fill_parameters& parameters) noexcept {
  return {
      detail::device_address(parameters.address()),      parameters.pitch(), parameters.value(),
      static_cast<unsigned>(parameters.element_bytes()), parameters.width(), parameters.height()};
}

abi::CUgraphNodeParams to_node_params(const fill_parameters& parameters,
                                      abi::CUcontext context) noexcept {
  const abi::CUDA_MEMSET_NODE_PARAMS p = to_driver_params(parameters);
  abi::CUgraphNodeParams params{};
  params.type = abi::CU_GRAPH_NODE_TYPE_MEMSET;
  params.memset = {p.dst, p.pitch, p.value, p.elementSize, p.width, p.height, context};
  return params;
}

// Returns the context of the memory. Uses the context that `memory` contains, or else queries the
// driver. For host memory, returns the current or the primary context.
abi::CUcontext context_of(const detail::node_memory& memory, call_site at) {
  if (memory.context != nullptr) return memory.context;
  const detail::pointer_attributes pointer_info =
      detail::query_pointer_attributes(memory.address, at);
  return pointer_info.context != nullptr ? pointer_info.context
                                         : detail::current_or_primary_context(at);
}

}  // namespace

fill_parameters fill_node::parameters(call_site at) const {
  const auto p = detail::params_of(*this, "cuGraphMemsetNodeGetParams",
                                   &detail::driver_table::cuGraphMemsetNodeGetParams, at);
  fill_parameters parameters{
      detail::to_pointer(p.dst), p.value, p.elementSize, p.width, p.height, p.pitch};
  detail::get_owners(*this, {&parameters.memory_.owner, 1});
  return parameters;
}

void fill_parameters::throw_slices_not_supported(call_site at) {
  detail::throw_error(
      errc::invalid_value, "weir::fill_parameters", "",
      "the slices have rows between them, which one fill cannot skip; fill each slice "
      "separately",
      at);
}

std::vector<detail::region> fill_parameters::memory() const {
  return {{memory_.address, 1, nullptr}};
}

CUgraphNode_st* fill_parameters::add_to(detail::insertion_point point, call_site at) const {
  detail::require_outside_host_function("cuGraphAddNode", {}, at);
  abi::CUgraphNodeParams params = to_node_params(*this, context_of(memory_, at));
  return detail::add_node(point, params, owners(), memory(), at);
}

void fill_parameters::set_in_graph(graph_node node, call_site at) const {
  constexpr const char* call = "cuGraphNodeSetParams";
  detail::require_outside_host_function(call, {}, at);
  abi::CUgraphNodeParams params = to_node_params(*this, context_of(memory_, at));
  detail::note_node_memory(node, memory());
  detail::change_node(
      node, node_kind::fill, owners(), call,
      [&](abi::CUgraphNode handle) {
        // Drivers of CUDA 12.0 and 12.1 lack this call. cuGraphMemsetNodeSetParams has no argument
        // for the context, and an H200 refuses memory of pools in it.
        const abi::CUresult answer = driver().cuGraphNodeSetParams(handle, &params);
        if (answer != abi::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER) return answer;
        const abi::CUDA_MEMSET_NODE_PARAMS p = to_driver_params(*this);
        return driver().cuGraphMemsetNodeSetParams(handle, &p);
      },
      at);
}

void fill_parameters::set_in_exec(CUgraphExec_st* exec, graph_node node, call_site at) const {
  const abi::CUDA_MEMSET_NODE_PARAMS params = to_driver_params(*this);
  const abi::CUcontext context = context_of(memory_, at);
  detail::check_set_in_exec(
      driver().cuGraphExecMemsetNodeSetParams(exec, node.get(), &params, context),
      "cuGraphExecMemsetNodeSetParams", exec, node, node_kind::fill, at);
}

}  // namespace weir
