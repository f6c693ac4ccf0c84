// SPDX-License-Identifier: Apache-2.0
// api/graph/conditional_bodies.hpp - checks which nodes the bodies of conditional nodes may hold.
#pragma once

#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/graph/graph.hpp>

namespace weir::detail {

[[nodiscard]] bool is_allowed_in_body(node_kind kind) noexcept;

// Throws if the graph is known to be in a body and a body cannot hold nodes of this kind.
void throw_if_not_allowed_in_body(abi::CUgraph graph, node_kind kind, call_site at);

// Returns the first node of the graph or of its known parts that no body may hold, or an empty
// node.
[[nodiscard]] graph_node find_not_allowed_in_body(abi::CUgraph graph, call_site at);

// Returns the first node that prevents copying the graph: an allocation, a free or a conditional
// node.
[[nodiscard]] graph_node find_not_copyable(abi::CUgraph graph, call_site at);

// Returns the first conditional node, or an empty node.
[[nodiscard]] graph_node find_conditional(abi::CUgraph graph, call_site at);

// Throws an error that explains why the graph cannot be cloned.
[[noreturn, gnu::cold]] void fail_clone(abi::CUresult answer, graph_ref graph, call_site at);

}  // namespace weir::detail
