// SPDX-License-Identifier: Apache-2.0
// api/graph/nodes/host_function_node.cpp - nodes that run host functions.
#include <weir/graph/nodes/host_function_node.hpp>

#include "api/core/call_restrictions.hpp"
#include "api/core/unhandled_error.hpp"
#include "api/graph/node_calls.hpp"

#include <exception>

namespace weir {

using detail::driver;

namespace {

// The function that the driver calls. Exceptions are passed to the unhandled error handler. They
// must not reach the driver, and a graph has no single stream whose sync() could throw them.
void CUDA_CB run_closure(void* data) {
  auto& closure = *static_cast<detail::node_closure*>(data);
  const detail::host_function_guard mark;
  try {
    closure.invoke(closure);
  } catch (...) {
    detail::call_unhandled_error_handler(std::current_exception());
  }
}

abi::CUDA_HOST_NODE_PARAMS to_driver_params(const host_function_parameters& parameters) noexcept {
  return {parameters.function(), parameters.data()};
}

}  // namespace

void (*detail::closure_runner() noexcept)(void*) { return &run_closure; }

host_function_parameters host_function_node::parameters(call_site at) const {
  const auto p = detail::params_of(*this, "cuGraphHostNodeGetParams",
                                   &detail::driver_table::cuGraphHostNodeGetParams, at);
  host_function_parameters parameters{p.fn, p.userData};
  if (p.fn == &run_closure) {
    // The closure exists, because the graph of the node holds a reference to it.
    auto& closure = *static_cast<detail::node_closure*>(p.userData);
    __atomic_fetch_add(&closure.shares, 1, __ATOMIC_RELAXED);
    parameters.closure_ = detail::keep_alive_ref{closure};
  }
  return parameters;
}

CUgraphNode_st* host_function_parameters::add_to(detail::insertion_point point,
                                                 call_site at) const {
  abi::CUgraphNodeParams params{};
  params.type = abi::CU_GRAPH_NODE_TYPE_HOST;
  params.host = to_driver_params(*this);
  return detail::add_node(point, params, owners(), at);
}

void host_function_parameters::set_in_graph(graph_node node, call_site at) const {
  const abi::CUDA_HOST_NODE_PARAMS params = to_driver_params(*this);
  detail::change_node(node, node_kind::host_function, owners(), "cuGraphHostNodeSetParams",
                      &detail::driver_table::cuGraphHostNodeSetParams, &params, at);
}

void host_function_parameters::set_in_exec(CUgraphExec_st* exec, graph_node node,
                                           call_site at) const {
  const abi::CUDA_HOST_NODE_PARAMS params = to_driver_params(*this);
  detail::check_set_in_exec(driver().cuGraphExecHostNodeSetParams(exec, node.get(), &params),
                            "cuGraphExecHostNodeSetParams", exec, node, node_kind::host_function,
                            at);
}

}  // namespace weir
