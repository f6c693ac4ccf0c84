// SPDX-License-Identifier: Apache-2.0
// api/graph/nodes/semaphore_nodes.cpp - nodes that signal external semaphores or wait for them.
#include <weir/graph/nodes/semaphore_nodes.hpp>

#include "api/graph/node_calls.hpp"

namespace weir {

using detail::driver;

namespace {

// The parameters of a signal or wait node, with the arrays that they point to.
template <class Value>
class semaphore_arrays {
 public:
  semaphore_arrays(const std::vector<semaphore_value>& semaphores, const char* call, call_site at) {
    handles_.reserve(semaphores.size());
    values_.reserve(semaphores.size());
    for (const semaphore_value& each : semaphores) {
      // A driver would accept it and fail at the launch.
      if (each.semaphore == nullptr)
        detail::throw_error(errc::invalid_handle, call, "",
                            "a semaphore is null; pass open semaphores", at);
      handles_.push_back(each.semaphore);
      Value& value = values_.emplace_back();
      value.params.fence.value = each.value;
    }
  }
  [[nodiscard]] abi::CUgraphNodeParams& params(abi::CUgraphNodeType type) {
    params_.type = type;
    const auto count = static_cast<unsigned>(handles_.size());
    if constexpr (std::is_same_v<Value, abi::CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS>) {
      params_.extSemSignal = {handles_.data(), values_.data(), count};
    } else {
      params_.extSemWait = {handles_.data(), values_.data(), count};
    }
    return params_;
  }

 private:
  std::vector<abi::CUexternalSemaphore> handles_;
  std::vector<Value> values_;
  abi::CUgraphNodeParams params_{};
};

using signals = semaphore_arrays<abi::CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS>;
using waits = semaphore_arrays<abi::CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS>;

template <class Arrays>
std::vector<semaphore_value> list_of(const Arrays& arrays) {
  std::vector<semaphore_value> list;
  list.reserve(arrays.numExtSems);
  for (unsigned i = 0; i < arrays.numExtSems; ++i) {
    list.emplace_back(arrays.extSemArray[i], arrays.paramsArray[i].params.fence.value);
  }
  return list;
}

void set_node(graph_node node, node_kind kind, abi::CUgraphNodeParams& params, call_site at) {
  detail::change_node(
      node, kind, {}, "cuGraphNodeSetParams",
      [&](abi::CUgraphNode handle) { return driver().cuGraphNodeSetParams(handle, &params); }, at);
}

void set_node_in_exec(CUgraphExec_st* exec, graph_node node, node_kind kind,
                      abi::CUgraphNodeParams& params, call_site at) {
  detail::check_set_in_exec(driver().cuGraphExecNodeSetParams(exec, node.get(), &params),
                            "cuGraphExecNodeSetParams", exec, node, kind, at);
}

}  // namespace

semaphore_signal_parameters semaphore_signal_node::parameters(call_site at) const {
  return semaphore_signal_parameters{
      list_of(detail::params_of<abi::CUDA_EXT_SEM_SIGNAL_NODE_PARAMS>(
          *this, "cuGraphExternalSemaphoresSignalNodeGetParams",
          [](abi::CUgraphNode node, auto* p) {
            return driver().cuGraphExternalSemaphoresSignalNodeGetParams(node, p);
          },
          at))};
}

void semaphore_signal_node::set(const semaphore_signal_parameters& parameters, call_site at) const {
  parameters.set_in_graph(*this, at);
}

semaphore_wait_parameters semaphore_wait_node::parameters(call_site at) const {
  return semaphore_wait_parameters{list_of(detail::params_of<abi::CUDA_EXT_SEM_WAIT_NODE_PARAMS>(
      *this, "cuGraphExternalSemaphoresWaitNodeGetParams",
      [](abi::CUgraphNode node, auto* p) {
        return driver().cuGraphExternalSemaphoresWaitNodeGetParams(node, p);
      },
      at))};
}

void semaphore_wait_node::set(const semaphore_wait_parameters& parameters, call_site at) const {
  parameters.set_in_graph(*this, at);
}

CUgraphNode_st* semaphore_signal_parameters::add_to(CUgraph_st* parent_graph,
                                                    dependency_list dependencies,
                                                    call_site at) const {
  return detail::add_node(
      parent_graph, dependencies,
      signals{semaphores_, "cuGraphAddNode", at}.params(abi::CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL),
      {}, at);
}

void semaphore_signal_parameters::set_in_graph(graph_node node, call_site at) const {
  set_node(node, node_kind::semaphore_signal,
           signals{semaphores_, "cuGraphNodeSetParams", at}.params(
               abi::CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL),
           at);
}

void semaphore_signal_parameters::set_in_exec(CUgraphExec_st* exec, graph_node node,
                                              call_site at) const {
  set_node_in_exec(exec, node, node_kind::semaphore_signal,
                   signals{semaphores_, "cuGraphExecNodeSetParams", at}.params(
                       abi::CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL),
                   at);
}

CUgraphNode_st* semaphore_wait_parameters::add_to(CUgraph_st* parent_graph,
                                                  dependency_list dependencies,
                                                  call_site at) const {
  return detail::add_node(
      parent_graph, dependencies,
      waits{semaphores_, "cuGraphAddNode", at}.params(abi::CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT), {},
      at);
}

void semaphore_wait_parameters::set_in_graph(graph_node node, call_site at) const {
  set_node(
      node, node_kind::semaphore_wait,
      waits{semaphores_, "cuGraphNodeSetParams", at}.params(abi::CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT),
      at);
}

void semaphore_wait_parameters::set_in_exec(CUgraphExec_st* exec, graph_node node,
                                            call_site at) const {
  set_node_in_exec(exec, node, node_kind::semaphore_wait,
                   waits{semaphores_, "cuGraphExecNodeSetParams", at}.params(
                       abi::CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT),
                   at);
}

}  // namespace weir
