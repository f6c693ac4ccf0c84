// SPDX-License-Identifier: Apache-2.0
// api/graph/nodes/semaphore_nodes.cpp - nodes that signal external semaphores or wait for them.
#include <weir/graph/nodes/semaphore_nodes.hpp>

#include "api/graph/node_calls.hpp"

#include <type_traits>

namespace weir::detail {

namespace {

// The driver's parameters of a signal or wait node, with the arrays that they point to.
template <node_kind Kind>
class semaphore_arrays {
 public:
  semaphore_arrays(const std::vector<semaphore_value>& semaphores, const char* call, call_site at) {
    handles_.reserve(semaphores.size());
    values_.reserve(semaphores.size());
    for (const semaphore_value& entry : semaphores) {
      // A driver would accept a null semaphore and fail at the launch.
      if (entry.semaphore == nullptr)
        throw_error(errc::invalid_handle, call, "", "a semaphore is null; pass open semaphores",
                    at);
      handles_.push_back(entry.semaphore);
      values_.emplace_back().params.fence.value = entry.value;
    }
    const auto count = static_cast<unsigned>(handles_.size());
    if constexpr (Kind == node_kind::semaphore_signal) {
      params_.type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL;
      params_.extSemSignal = {handles_.data(), values_.data(), count};
    } else {
      params_.type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT;
      params_.extSemWait = {handles_.data(), values_.data(), count};
    }
  }
  [[nodiscard]] CUgraphNodeParams& params() noexcept { return params_; }

 private:
  using value_type =
      std::conditional_t<Kind == node_kind::semaphore_signal, CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS,
                         CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS>;

  std::vector<CUexternalSemaphore> handles_;
  std::vector<value_type> values_;
  CUgraphNodeParams params_{};
};

template <class Arrays>
std::vector<semaphore_value> list_of(const Arrays& arrays) {
  std::vector<semaphore_value> list;
  list.reserve(arrays.numExtSems);
  for (unsigned i = 0; i < arrays.numExtSems; ++i) {
    list.emplace_back(arrays.extSemArray[i], arrays.paramsArray[i].params.fence.value);
  }
  return list;
}

}  // namespace

template <node_kind Kind>
semaphore_parameters<Kind> semaphore_node<Kind>::parameters(call_site at) const {
  if constexpr (Kind == node_kind::semaphore_signal) {
    return semaphore_parameters<Kind>{
        list_of(params_of(*this, "cuGraphExternalSemaphoresSignalNodeGetParams",
                          &driver_table::cuGraphExternalSemaphoresSignalNodeGetParams, at))};
  } else {
    return semaphore_parameters<Kind>{
        list_of(params_of(*this, "cuGraphExternalSemaphoresWaitNodeGetParams",
                          &driver_table::cuGraphExternalSemaphoresWaitNodeGetParams, at))};
  }
}

template <node_kind Kind>
CUgraphNode_st* semaphore_parameters<Kind>::add_to(insertion_point point, call_site at) const {
  semaphore_arrays<Kind> arrays{semaphores_, "cuGraphAddNode", at};
  return add_node(point, arrays.params(), owner_list{}, at);
}

template <node_kind Kind>
void semaphore_parameters<Kind>::set_in_graph(graph_node node, call_site at) const {
  constexpr const char* call = "cuGraphNodeSetParams";
  semaphore_arrays<Kind> arrays{semaphores_, call, at};
  change_node(node, Kind, owner_list{}, call, &driver_table::cuGraphNodeSetParams, &arrays.params(),
              at);
}

template <node_kind Kind>
void semaphore_parameters<Kind>::set_in_exec(CUgraphExec_st* exec, graph_node node,
                                             call_site at) const {
  constexpr const char* call = "cuGraphExecNodeSetParams";
  semaphore_arrays<Kind> arrays{semaphores_, call, at};
  check_set_in_exec(driver().cuGraphExecNodeSetParams(exec, node.get(), &arrays.params()), call,
                    exec, node, Kind, at);
}

template class semaphore_node<node_kind::semaphore_signal>;
template class semaphore_node<node_kind::semaphore_wait>;
template class semaphore_parameters<node_kind::semaphore_signal>;
template class semaphore_parameters<node_kind::semaphore_wait>;

}  // namespace weir::detail
