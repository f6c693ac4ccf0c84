// SPDX-License-Identifier: Apache-2.0
// api/graph/nodes/event_nodes.cpp - nodes that record events or wait for them.
#include <weir/graph/nodes/event_nodes.hpp>

#include "api/graph/node_calls.hpp"
#include "api/graph/node_metadata.hpp"

namespace weir {

using detail::driver;

void detail::node_event::share_owners_of(graph_node node) noexcept {
  get_owners(node, {&owner_, 1});
}

void detail::node_event::set(event_ref e, call_site at) {
  if (e.get() == closed_handle<CUevent_st>()) throw_closed("weir::graph_ref::add", e, at);
  event_ = e;
}

event_ref event_record_node::event(call_site at) const {
  return event_ref{detail::params_of<abi::CUevent>(
      *this, "cuGraphEventRecordNodeGetEvent",
      [](abi::CUgraphNode node, auto* e) {
        return driver().cuGraphEventRecordNodeGetEvent(node, e);
      },
      at)};
}

event_record_parameters event_record_node::parameters(call_site at) const {
  event_record_parameters parameters{event(at), at};
  parameters.event_.share_owners_of(*this);
  return parameters;
}

void event_record_node::set(const event_record_parameters& parameters, call_site at) const {
  parameters.set_in_graph(*this, at);
}

event_ref event_wait_node::event(call_site at) const {
  return event_ref{detail::params_of<abi::CUevent>(
      *this, "cuGraphEventWaitNodeGetEvent",
      [](abi::CUgraphNode node, auto* e) { return driver().cuGraphEventWaitNodeGetEvent(node, e); },
      at)};
}

event_wait_parameters event_wait_node::parameters(call_site at) const {
  event_wait_parameters parameters{event(at), at};
  parameters.event_.share_owners_of(*this);
  return parameters;
}

void event_wait_node::set(const event_wait_parameters& parameters, call_site at) const {
  parameters.set_in_graph(*this, at);
}

CUgraphNode_st* event_record_parameters::add_to(CUgraph_st* parent_graph,
                                                dependency_list dependencies, call_site at) const {
  abi::CUgraphNodeParams params{};
  params.type = abi::CU_GRAPH_NODE_TYPE_EVENT_RECORD;
  params.eventRecord.event = event().get();
  return detail::add_node(parent_graph, dependencies, params, owners(), at);
}

void event_record_parameters::set_in_graph(graph_node node, call_site at) const {
  detail::change_node(
      node, node_kind::event_record, owners(), "cuGraphEventRecordNodeSetEvent",
      [&](abi::CUgraphNode handle) {
        return driver().cuGraphEventRecordNodeSetEvent(handle, event().get());
      },
      at);
}

void event_record_parameters::set_in_exec(CUgraphExec_st* exec, graph_node node,
                                          call_site at) const {
  detail::check_set_in_exec(
      driver().cuGraphExecEventRecordNodeSetEvent(exec, node.get(), event().get()),
      "cuGraphExecEventRecordNodeSetEvent", exec, node, node_kind::event_record, at);
}

CUgraphNode_st* event_wait_parameters::add_to(CUgraph_st* parent_graph,
                                              dependency_list dependencies, call_site at) const {
  abi::CUgraphNodeParams params{};
  params.type = abi::CU_GRAPH_NODE_TYPE_WAIT_EVENT;
  params.eventWait.event = event().get();
  return detail::add_node(parent_graph, dependencies, params, owners(), at);
}

void event_wait_parameters::set_in_graph(graph_node node, call_site at) const {
  detail::change_node(
      node, node_kind::event_wait, owners(), "cuGraphEventWaitNodeSetEvent",
      [&](abi::CUgraphNode handle) {
        return driver().cuGraphEventWaitNodeSetEvent(handle, event().get());
      },
      at);
}

void event_wait_parameters::set_in_exec(CUgraphExec_st* exec, graph_node node, call_site at) const {
  detail::check_set_in_exec(
      driver().cuGraphExecEventWaitNodeSetEvent(exec, node.get(), event().get()),
      "cuGraphExecEventWaitNodeSetEvent", exec, node, node_kind::event_wait, at);
}

}  // namespace weir
