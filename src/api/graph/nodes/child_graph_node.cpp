// api/graph/nodes/child_graph_node.cpp - nodes that are graphs.
#include <weir/graph/nodes/child_graph_node.hpp>
#include <weir/core/to_string.hpp>

#include "api/memory/captured_memory.hpp"
#include "api/graph/conditional_bodies.hpp"
#include "api/graph/graph_book.hpp"
#include "api/graph/graph_parts.hpp"
#include "api/graph/node_calls.hpp"
#include "api/graph/node_notes.hpp"
#include "api/core/unraised.hpp"

#include <fmt/format.h>

#include <exception>
#include <optional>

namespace weir {

using detail::check;
using detail::driver;
using detail::subject;

namespace {

constexpr const char* add_call = "cuGraphAddNode";

abi::CUgraph embedded_graph(abi::CUgraphNode node, call_site at) {
  constexpr const char* call = "cuGraphChildGraphNodeGetGraph";
  return detail::params_of<abi::CUgraph>(
      graph_node{node}, call,
      [](abi::CUgraphNode handle, auto* graph) { return driver().cuGraphChildGraphNodeGetGraph(handle, graph); }, at);
}

// What a driver would crash on, or find out only when it instantiates.
void check_child(CUgraph_st* to, graph_ref child, call_site at) {
  detail::usable(graph_ref{to}, add_call, at);
  CUgraph_st* const handle = detail::finished(child, add_call, at);
  if (detail::is_part_of(to, handle)) {
    detail::fail(errc::invalid_value, add_call, to_string(graph_ref{to}), "a graph cannot be a part of itself", at);
  }
  if (!detail::is_in_body(to)) return;
  const graph_node unfit = detail::find_unfit_for_body(handle, at);
  if (!unfit) return;
  detail::fail(
      errc::not_supported, add_call, to_string(graph_ref{to}),
      fmt::format("the child has a node that no body of a conditional node can hold: {}", detail::describe(unfit)), at);
}

[[noreturn, gnu::cold]] void fail_adding_child(abi::CUresult answer, CUgraph_st* to, graph_ref child,
                                               dependency_list after, bool moved, call_site at) {
  std::string reason = detail::advice_on(node_kind::child_graph);
  if (answer == abi::CUDA_ERROR_NOT_SUPPORTED) {
    reason = "a graph that is a part of a node already is no child of another one";
    if (const graph_node unmoved = detail::find_conditional(child.get(), at)) {
      reason =
          fmt::format("a graph with such a node is no child, neither copied nor moved: {}", detail::describe(unmoved));
    } else if (const graph_node uncopied = detail::find_uncopied(child.get(), at); uncopied && !moved) {
      reason = fmt::format(
          "there is one only of a graph with such a node, so that it cannot be copied: {}; "
          "add_moved_child() takes the graph itself",
          detail::describe(uncopied));
    }
  }
  detail::fail_adding(answer, to, after, node_kind::child_graph, std::move(reason), at);
}

abi::CUgraphNodeParams params_of(graph_ref child, abi::CUgraphChildGraphNodeOwnership ownership) {
  abi::CUgraphNodeParams params{};
  params.type = abi::CU_GRAPH_NODE_TYPE_GRAPH;
  params.graph = {child.get(), ownership};
  return params;
}

}  // namespace

graph_ref child_graph_node::child(call_site at) const {
  detail::usable(*this, "cuGraphChildGraphNodeGetGraph", at);
  CUgraph_st* const part = embedded_graph(get(), at);
  if (CUgraph_st* const of = graph().get(); of != nullptr) {
    detail::open_book(of, at);
    detail::note_part(part, of, get(), detail::part_kind::child);
  }
  return graph_ref{part};
}

CUgraphNode_st* child_graph_parameters::add_to(CUgraph_st* to, dependency_list after, call_site at) const {
  check_child(to, child_, at);
  std::optional<detail::room_for_parts> room;
  if (detail::any_graph_noted()) {
    detail::open_book(to, at);
    room.emplace(1);
  }
  abi::CUgraphNodeParams params = params_of(child_, abi::CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE);
  CUgraphNode_st* made = nullptr;
  if (const auto answer = detail::try_add_node(to, after, params, {}, made, at); answer != abi::CUDA_SUCCESS) {
    fail_adding_child(answer, to, child_, after, false, at);
  }
  if (!room) return made;
  try {
    CUgraph_st* const part = embedded_graph(made, at);
    room->note(part, to, made, detail::part_kind::child);
    detail::copy_notes(child_.get(), part, at);
  } catch (...) {
    if (driver().cuGraphDestroyNode(made) == abi::CUDA_SUCCESS) {
      static_cast<void>(detail::forget_node(to, made));
      throw;
    }
    detail::raise_to_hook(std::current_exception());  // it is added, and works
  }
  return made;
}

// The driver's executable takes over what the nodes do, and nothing of what the graph keeps.
detail::kept_graph child_graph_parameters::kept_in_exec(call_site at) const {
  CUgraph_st* const child = detail::finished(child_, "cuGraphExecChildGraphNodeSetParams", at);
  abi::CUgraph copy = nullptr;
  const abi::CUresult answer = driver().cuGraphClone(&copy, child);
  // What cannot be copied cannot be set either, and that answer says more.
  if (answer == abi::CUDA_ERROR_NOT_SUPPORTED || answer == abi::CUDA_ERROR_INVALID_VALUE) return {};
  check(answer, "cuGraphClone", subject::graph(child), at);
  detail::forget_graph(copy);
  graph made = graph::adopt(copy, at);
  return {detail::owner_share{*new detail::owner_box<graph>{std::move(made)}}};
}

void child_graph_parameters::set_in(CUgraphExec_st* exec, graph_node node, call_site at) const {
  constexpr const char* call = "cuGraphExecChildGraphNodeSetParams";
  CUgraph_st* const child = detail::finished(child_, call, at);
  detail::check_set_in(driver().cuGraphExecChildGraphNodeSetParams(exec, node.get(), child), call, exec, node,
                       node_kind::child_graph, at);
}

child_graph_node add_moved_child(graph_ref to, graph&& child, dependency_list after, call_site at) {
  check_child(to.get(), child, at);
  std::optional<detail::room_for_parts> room;
  if (detail::any_graph_noted()) {
    detail::open_book(to.get(), at);
    room.emplace(1);
  }
  abi::CUgraphNodeParams params = params_of(child, abi::CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE);
  CUgraphNode_st* made = nullptr;
  const auto answer = detail::try_add_node(to.get(), after, params, {}, made, at);
  if (answer != abi::CUDA_SUCCESS) fail_adding_child(answer, to.get(), child, after, true, at);
  CUgraph_st* const part = detail::take_out_of(child);
  detail::note_graph_moved(part, to.get());
  if (room) room->note_moved(part, to.get(), made);
  return child_graph_node{detail::known_kind{}, graph_node{made, to.get()}};
}

}  // namespace weir
