// SPDX-License-Identifier: Apache-2.0
// api/graph/conditional_bodies.hpp - checks which nodes the bodies of conditional nodes may
// contain.
#pragma once

#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/graph/graph.hpp>

namespace weir::detail {

// Returns true if the driver allows nodes of this kind in the body of a conditional node.
[[nodiscard]] bool is_allowed_in_body(node_kind kind) noexcept;

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

// Throws an error that explains why the graph cannot be cloned.
[[noreturn, gnu::cold]] void fail_clone(abi::CUresult answer, graph_ref graph, call_site at);

}  // namespace weir::detail
