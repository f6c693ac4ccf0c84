// SPDX-License-Identifier: Apache-2.0
// api/graph/conditional_bodies.hpp - checks which nodes the bodies of conditional nodes may
// contain.
#pragma once

#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/graph/graph.hpp>

#include <vector>

namespace weir::detail {

// Returns the graphs that the node contains: the child graph of a child graph node, or the bodies
// of a conditional node that weir knows. `kind` is the kind of the node.
[[nodiscard]] std::vector<abi::CUgraph> parts_of(graph_node node, node_kind kind, call_site at);

// Throws if weir knows that the graph is a body or is inside one, and a body cannot contain nodes
// of this kind.
void throw_if_not_allowed_in_body(abi::CUgraph graph, node_kind kind, call_site at);

// Returns the first node of the graph or of its subgraphs that a body cannot contain; an empty node
// if there is none. Searches child graphs, and the bodies that weir knows.
[[nodiscard]] graph_node find_not_allowed_in_body(abi::CUgraph graph, call_site at);

// Returns the first node of the graph or of its subgraphs that prevents a copy of the graph: an
// allocation, a free or a conditional node. Returns an empty node if there is none.
[[nodiscard]] graph_node find_not_copyable(abi::CUgraph graph, call_site at);

// Returns the first conditional node of the graph or of its subgraphs; an empty node if there is
// none.
[[nodiscard]] graph_node find_conditional(abi::CUgraph graph, call_site at);

// Throws the error of a failed clone. NOT_SUPPORTED is explained by a node that cannot be copied,
// if the graph contains one.
[[noreturn, gnu::cold]] void fail_clone(abi::CUresult answer, graph_ref graph, call_site at);

}  // namespace weir::detail
