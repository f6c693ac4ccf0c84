// SPDX-License-Identifier: Apache-2.0
// api/graph/nodes/event_nodes.cpp - nodes that record events or wait for them.
#include <weir/graph/nodes/event_nodes.hpp>

#include "api/graph/node_calls.hpp"
#include "api/graph/node_metadata.hpp"

namespace weir::detail {

namespace {

// The driver's functions for event record nodes or for event wait nodes, with their names.
struct event_node_functions {
  CUresult (*driver_table::*get)(CUgraphNode, CUevent*);
  const char* get_call;
  CUresult (*driver_table::*set)(CUgraphNode, CUevent);
  const char* set_call;
  CUresult (*driver_table::*set_in_exec)(CUgraphExec, CUgraphNode, CUevent);
  const char* set_in_exec_call;
};

constexpr event_node_functions record_functions = {
    &driver_table::cuGraphEventRecordNodeGetEvent,     "cuGraphEventRecordNodeGetEvent",
    &driver_table::cuGraphEventRecordNodeSetEvent,     "cuGraphEventRecordNodeSetEvent",
    &driver_table::cuGraphExecEventRecordNodeSetEvent, "cuGraphExecEventRecordNodeSetEvent"};

constexpr event_node_functions wait_functions = {
    &driver_table::cuGraphEventWaitNodeGetEvent,     "cuGraphEventWaitNodeGetEvent",
    &driver_table::cuGraphEventWaitNodeSetEvent,     "cuGraphEventWaitNodeSetEvent",
    &driver_table::cuGraphExecEventWaitNodeSetEvent, "cuGraphExecEventWaitNodeSetEvent"};

template <node_kind Kind>
constexpr const event_node_functions& event_functions =
    Kind == node_kind::event_record ? record_functions : wait_functions;

}  // namespace

void node_event::share_owners_of(graph_node node) noexcept { get_owners(node, {&owner_, 1}); }

void node_event::set(event_ref event, call_site at) {
  if (event.get() == closed_handle<CUevent_st>()) throw_closed("weir::graph_ref::add", event, at);
  event_ = event;
}

template <node_kind Kind>
event_ref event_node<Kind>::event(call_site at) const {
  constexpr const event_node_functions& functions = event_functions<Kind>;
  return event_ref{params_of(*this, functions.get_call, functions.get, at)};
}

template <node_kind Kind>
event_parameters<Kind> event_node<Kind>::parameters(call_site at) const {
  event_parameters<Kind> parameters{event(at), at};
  parameters.event_.share_owners_of(*this);
  return parameters;
}

template <node_kind Kind>
CUgraphNode_st* event_parameters<Kind>::add_to(insertion_point point, call_site at) const {
  CUgraphNodeParams params{};
  if constexpr (Kind == node_kind::event_record) {
    params.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    params.eventRecord.event = event().get();
  } else {
    params.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT;
    params.eventWait.event = event().get();
  }
  return add_node(point, params, owners(), at);
}

template <node_kind Kind>
void event_parameters<Kind>::set_in_graph(graph_node node, call_site at) const {
  constexpr const event_node_functions& functions = event_functions<Kind>;
  change_node(node, Kind, owners(), functions.set_call, functions.set, event().get(), at);
}

template <node_kind Kind>
void event_parameters<Kind>::set_in_exec(CUgraphExec_st* exec, graph_node node,
                                         call_site at) const {
  constexpr const event_node_functions& functions = event_functions<Kind>;
  check_set_in_exec((driver().*functions.set_in_exec)(exec, node.get(), event().get()),
                    functions.set_in_exec_call, exec, node, Kind, at);
}

template class event_node<node_kind::event_record>;
template class event_node<node_kind::event_wait>;
template class event_parameters<node_kind::event_record>;
template class event_parameters<node_kind::event_wait>;

}  // namespace weir::detail
