// SPDX-License-Identifier: Apache-2.0
// weir/graph/graph_nodes.hpp - nodes of all kinds, and visit(), which selects a function by the
// kind of a node.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/graph/nodes/child_graph_node.hpp>
#include <weir/graph/nodes/conditional_node.hpp>
#include <weir/graph/nodes/copy_node.hpp>
#include <weir/graph/nodes/empty_node.hpp>
#include <weir/graph/nodes/event_nodes.hpp>
#include <weir/graph/nodes/fill_node.hpp>
#include <weir/graph/nodes/graph_node.hpp>
#include <weir/graph/nodes/host_function_node.hpp>
#include <weir/graph/nodes/kernel_node.hpp>
#include <weir/graph/nodes/memory_nodes.hpp>
#include <weir/graph/nodes/semaphore_nodes.hpp>
#include <weir/graph/nodes/value_batch_node.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace weir {
namespace detail {

/// The first parameter of visit(): a node, and the call site of the visit() call, which a default
/// argument cannot supply after a parameter pack.
struct node_with_call_site {
  template <std::convertible_to<graph_node> Node>
  node_with_call_site(const Node& visited, call_site site = call_site::current()) noexcept
      : node{visited}, at{site} {}
  graph_node node;
  call_site at;
};

/// Joins function objects into one overload set.
template <class... Functions>
struct overloads : Functions... {
  using Functions::operator()...;
};

}  // namespace detail

/// Calls the function that accepts the typed view of the node, and returns its result:
///
///   weir::visit(node,
///               [](weir::fill_node n) { ... n.parameters() ... },
///               [](weir::copy_node n) { ... },
///               [](weir::graph_node n) { ... });  // all other kinds
///
/// One function must accept a graph_node; it gets the nodes of all kinds for which no other
/// function exists, also of kinds newer than weir. All functions must return one type.
///
/// Driver: cuGraphNodeGetType.
template <class... Functions>
decltype(auto) visit(detail::node_with_call_site target, Functions&&... functions) {
  detail::overloads<std::decay_t<Functions>...> overloaded{std::forward<Functions>(functions)...};
  static_assert(std::is_invocable_v<decltype(overloaded)&, graph_node>,
                "one function takes whatever else there is");
  const auto as = [&]<class View>(View) -> decltype(auto) {
    return overloaded(View{detail::known_kind{}, target.node});
  };
  switch (target.node.kind(target.at)) {
    case node_kind::kernel: return as(kernel_node{});
    case node_kind::copy: return as(copy_node{});
    case node_kind::fill: return as(fill_node{});
    case node_kind::host_function: return as(host_function_node{});
    case node_kind::child_graph: return as(child_graph_node{});
    case node_kind::empty: return as(empty_node{});
    case node_kind::event_wait: return as(event_wait_node{});
    case node_kind::event_record: return as(event_record_node{});
    case node_kind::semaphore_signal: return as(semaphore_signal_node{});
    case node_kind::semaphore_wait: return as(semaphore_wait_node{});
    case node_kind::allocation: return as(allocation_node{});
    case node_kind::free: return as(free_node{});
    case node_kind::value_batch: return as(value_batch_node{});
    case node_kind::conditional: return as(conditional_node{});
  }
  return overloaded(target.node);
}

}  // namespace weir
