// SPDX-License-Identifier: Apache-2.0
// api/graph/graph_parts.hpp - records which graphs are child graphs or bodies of other graphs.
#pragma once

#include "driver/abi.hpp"
#include "os/forked_child.hpp"

#include <atomic>
#include <optional>
#include <vector>

namespace weir::detail {

// A part is a child graph or a conditional body: a graph that a node of another graph contains. The
// subgraphs of a graph are its parts, their parts and so on. A graph that is no part is a root.
// weir knows the parts that it has registered (part_reservation in graph_metadata.hpp).
enum class part_kind : unsigned char { child, body };

// Returns true if `part` is a subgraph of `ancestor`, or `ancestor` itself.
[[nodiscard]] bool is_part_of(abi::CUgraph part, abi::CUgraph ancestor) noexcept;
// Returns true if `part` is a part of `node` or a subgraph of one. `node` is a node of `ancestor`.
[[nodiscard]] bool is_part_of_node(abi::CUgraph part, abi::CUgraph ancestor,
                                   abi::CUgraphNode node) noexcept;
// Returns true if the graph is a conditional body or a subgraph of one.
[[nodiscard]] bool is_in_body(abi::CUgraph graph) noexcept;
// Returns the root graph that `graph` is a subgraph of, or `graph` itself if weir does not know it
// as a part.
[[nodiscard]] abi::CUgraph root_of(abi::CUgraph graph) noexcept;

// Called when the driver has destroyed a graph because a capture into it failed. Removes the
// metadata of a root graph. If the graph was a part, its root and all subgraphs of the root become
// unusable: weir refuses to use them and leaks them, because a GPU's driver would crash.
void mark_destroyed(abi::CUgraph graph) noexcept;

// Number of root graphs that mark_destroyed() has made unusable. While it is 0, as is usual, a
// check costs one load.
inline constinit std::atomic<int> unusable_graph_count{0};
[[nodiscard]] inline bool any_unusable_graph() noexcept {
  return unusable_graph_count.load(std::memory_order_relaxed) != 0 && !os::in_forked_child();
}
// Returns true if the root of the graph, which may be the graph itself, is unusable.
[[nodiscard]] bool has_unusable_root(abi::CUgraph graph) noexcept;
[[nodiscard]] inline bool is_unusable(abi::CUgraph graph) noexcept {
  return any_unusable_graph() && has_unusable_root(graph);
}

// Stores the type (CUgraphConditionalNodeType) of a conditional node whose bodies are registered.
void set_conditional_type(abi::CUgraph graph, abi::CUgraphNode node, unsigned type) noexcept;
// The type and the bodies of a conditional node.
struct conditional_metadata {
  unsigned type = 0;
  std::vector<abi::CUgraph> bodies;
};
// Returns nullopt if no bodies of the node are registered.
[[nodiscard]] std::optional<conditional_metadata> find_conditional_metadata(abi::CUgraph graph,
                                                                            abi::CUgraphNode node);

}  // namespace weir::detail
