// SPDX-License-Identifier: Apache-2.0
// api/graph/nodes/value_batch_node.cpp - nodes that wait for values in memory and write them.
#include <weir/graph/nodes/value_batch_node.hpp>

#include "api/device/primary_context.hpp"
#include "api/graph/node_calls.hpp"
#include "api/sync/value_failure.hpp"

#include <string>

namespace weir {

using detail::driver;

namespace {

abi::CUDA_BATCH_MEM_OP_NODE_PARAMS to_driver_params(const value_batch_parameters& parameters,
                                                    call_site at) {
  // The driver only reads the steps, although its parameter is not const.
  auto* const steps = const_cast<abi::CUstreamBatchMemOpParams*>(
      static_cast<const abi::CUstreamBatchMemOpParams*>(parameters.batch().data()));
  const abi::CUcontext context =
      parameters.context() ? parameters.context().get() : detail::current_or_primary_context(at);
  return {context, static_cast<unsigned>(parameters.batch().size()), steps, 0};
}

}  // namespace

value_batch_parameters value_batch_node::parameters(call_site at) const {
  const auto p = detail::params_of(*this, "cuGraphBatchMemOpNodeGetParams",
                                   &detail::driver_table::cuGraphBatchMemOpNodeGetParams, at);
  return {value_batch::from_raw(p.paramArray, p.count), context_ref{p.ctx}};
}

std::vector<detail::region> value_batch_parameters::memory() const { return batch().words(); }

CUgraphNode_st* value_batch_parameters::add_to(detail::insertion_point point, call_site at) const {
  detail::require_outside_host_function("cuGraphAddNode", {}, at);
  abi::CUgraphNodeParams params{};
  params.type = abi::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
  params.memOp = to_driver_params(*this, at);
  detail::note_node_memory(point, memory(), at);
  abi::CUgraphNode created = nullptr;
  const abi::CUresult answer = detail::try_add_node(point, params, {}, created, at);
  if (answer != abi::CUDA_SUCCESS) [[unlikely]] {
    const std::string refused = detail::invalid_step_reason(
        answer, {params.memOp.paramArray, params.memOp.count}, params.memOp.ctx, at);
    detail::fail_adding(answer, point, node_kind::value_batch,
                        refused.empty() ? detail::hint_for(node_kind::value_batch) : refused, at);
  }
  return created;
}

void value_batch_parameters::set_in_graph(graph_node node, call_site at) const {
  constexpr const char* call = "cuGraphBatchMemOpNodeSetParams";
  detail::require_outside_host_function(call, {}, at);
  const abi::CUDA_BATCH_MEM_OP_NODE_PARAMS params = to_driver_params(*this, at);
  detail::note_node_memory(node, memory());
  detail::change_node(node, node_kind::value_batch, {}, call,
                      &detail::driver_table::cuGraphBatchMemOpNodeSetParams, &params, at);
}

void value_batch_parameters::set_in_exec(CUgraphExec_st* exec, graph_node node,
                                         call_site at) const {
  const abi::CUDA_BATCH_MEM_OP_NODE_PARAMS params = to_driver_params(*this, at);
  detail::check_set_in_exec(driver().cuGraphExecBatchMemOpNodeSetParams(exec, node.get(), &params),
                            "cuGraphExecBatchMemOpNodeSetParams", exec, node,
                            node_kind::value_batch, at);
}

}  // namespace weir
