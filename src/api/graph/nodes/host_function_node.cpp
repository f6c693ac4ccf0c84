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

// Calls a function of C code, so that run_closure() marks the thread for it as well.
struct c_closure final : detail::node_closure {
  c_closure(void (*function)(void*), void* data) noexcept {
    c_function = function;
    c_data = data;
    invoke = [](node_closure& self) { self.c_function(self.c_data); };
    run = [](detail::deferred_task& self) noexcept {
      delete static_cast<c_closure*>(&self);
      return detail::task_result::done;
    };
  }
};

// Returns the function and the argument for the driver. `owners` are those of the parameters.
abi::CUDA_HOST_NODE_PARAMS to_driver_params(const host_function_parameters& parameters,
                                            detail::owner_list owners) noexcept {
  detail::keep_alive* const closure = owners.first->get();
  if (closure == nullptr) return {parameters.function(), parameters.data()};
  return {&run_closure, static_cast<detail::node_closure*>(closure)};
}

}  // namespace

void (*detail::closure_runner() noexcept)(void*) { return &run_closure; }

host_function_parameters host_function_node::parameters(call_site at) const {
  const auto p = detail::params_of(*this, "cuGraphHostNodeGetParams",
                                   &detail::driver_table::cuGraphHostNodeGetParams, at);
  if (p.fn != &run_closure) return {p.fn, p.userData, {}};
  // The closure exists, because the graph of the node holds a reference to it.
  auto& closure = *static_cast<detail::node_closure*>(p.userData);
  __atomic_fetch_add(&closure.shares, 1, __ATOMIC_RELAXED);
  const bool is_c = closure.c_function != nullptr;
  return {is_c ? closure.c_function : p.fn, is_c ? closure.c_data : p.userData,
          detail::keep_alive_ref{closure}};
}

host_function_parameters::host_function_parameters(void (*f)(void* data), void* data)
    : function_{f}, data_{data} {
  if (f != nullptr) closure_ = detail::keep_alive_ref{*new c_closure{f, data}};
}

CUgraphNode_st* host_function_parameters::add_to(detail::insertion_point point,
                                                 call_site at) const {
  abi::CUgraphNodeParams params{};
  params.type = abi::CU_GRAPH_NODE_TYPE_HOST;
  params.host = to_driver_params(*this, owners());
  return detail::add_node(point, params, owners(), at);
}

void host_function_parameters::set_in_graph(graph_node node, call_site at) const {
  const abi::CUDA_HOST_NODE_PARAMS params = to_driver_params(*this, owners());
  detail::change_node(node, node_kind::host_function, owners(), "cuGraphHostNodeSetParams",
                      &detail::driver_table::cuGraphHostNodeSetParams, &params, at);
}

void host_function_parameters::set_in_exec(CUgraphExec_st* exec, graph_node node,
                                           call_site at) const {
  const abi::CUDA_HOST_NODE_PARAMS params = to_driver_params(*this, owners());
  detail::check_set_in_exec(driver().cuGraphExecHostNodeSetParams(exec, node.get(), &params),
                            "cuGraphExecHostNodeSetParams", exec, node, node_kind::host_function,
                            at);
}

}  // namespace weir
