// api/graph/conditional_bodies.hpp - what the bodies of conditional nodes may hold.
#pragma once

#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/graph/graph.hpp>

namespace weir::detail {

[[nodiscard]] bool is_allowed_in_body(node_kind kind) noexcept;

// Throws if the graph is known to be in a body, and that has no nodes of this kind.
void throw_if_not_allowed_in_body(abi::CUgraph graph, node_kind kind, call_site at);

// The first node of the graph, or of a part of it that can be told, that no body may hold; none if
// there is none.
[[nodiscard]] graph_node find_not_allowed_in_body(abi::CUgraph graph, call_site at);

// The first that keeps a graph from being copied: an allocation, a free, a condition.
[[nodiscard]] graph_node find_not_copyable(abi::CUgraph graph, call_site at);

// The first conditional node.
[[nodiscard]] graph_node find_conditional(abi::CUgraph graph, call_site at);

// Throws what says why a graph cannot be cloned.
[[noreturn, gnu::cold]] void fail_clone(abi::CUresult answer, graph_ref graph, call_site at);

}  // namespace weir::detail
