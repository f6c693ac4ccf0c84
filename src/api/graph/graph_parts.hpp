// SPDX-License-Identifier: Apache-2.0
// api/graph/graph_parts.hpp - records which graphs are child graphs or bodies of other graphs.
#pragma once

#include "driver/abi.hpp"
#include "os/forked_child.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace weir::detail {

// A part is a child graph or a conditional body: a graph that a node of another graph contains. The
// subgraphs of a graph are its parts, their parts and so on. A graph that is no part is a root.
// weir knows the parts that were added through weir or registered by add_part().
enum class part_kind : unsigned char { child, body };

// Registers `part` as a part of `node`. Does nothing if it is registered. `parent_graph`, the graph
// of `node`, must have metadata (graph_metadata.hpp).
void add_part(abi::CUgraph part, abi::CUgraph parent_graph, abi::CUgraphNode node, part_kind kind);

// Memory to register `parts` parts of one node. Allocated before the node is added, because the
// driver may refuse to remove the node if memory were exhausted afterwards.
class part_reservation {
 public:
  explicit part_reservation(std::size_t parts);
  part_reservation(const part_reservation&) = delete;
  part_reservation& operator=(const part_reservation&) = delete;
  ~part_reservation();

  void add_part(abi::CUgraph part, abi::CUgraph parent_graph, abi::CUgraphNode node,
                part_kind kind) noexcept;
  // Registers a root graph that the driver has moved into `node` as a child graph. The graph keeps
  // its metadata.
  void add_moved_part(abi::CUgraph part, abi::CUgraph parent_graph, abi::CUgraphNode node) noexcept;
  // Stores the type and the bodies of a conditional node. There are at most as many bodies as
  // reserved parts.
  void set_conditional(abi::CUgraph graph, abi::CUgraphNode node, unsigned type,
                       std::span<const abi::CUgraph> bodies) noexcept;

 private:
  struct storage;

  std::unique_ptr<storage> storage_;
};

// Returns true if `part` is a subgraph of `ancestor`, or `ancestor` itself.
[[nodiscard]] bool is_part_of(abi::CUgraph part, abi::CUgraph ancestor) noexcept;
// Returns true if `part` is a part of `node`, a node of `ancestor`, or a subgraph of such a part.
[[nodiscard]] bool is_part_of_node(abi::CUgraph part, abi::CUgraph ancestor,
                                   abi::CUgraphNode node) noexcept;
// Returns true if the graph is a conditional body or a subgraph of one.
[[nodiscard]] bool is_in_body(abi::CUgraph graph) noexcept;
// Returns the root graph that `graph` is a subgraph of, or `graph` itself if weir does not know it
// as a part.
[[nodiscard]] abi::CUgraph root_of(abi::CUgraph graph) noexcept;

// Called when the driver has destroyed a graph because a capture into it was invalidated. Removes
// the metadata of a root graph. If the graph was a part, its root and all subgraphs of the root
// become unusable: weir refuses to use or destroy them, because a GPU's driver would crash.
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

// The type (CUgraphConditionalNodeType) and the bodies of a conditional node.
struct conditional_metadata {
  unsigned type = 0;
  std::vector<abi::CUgraph> bodies;
};
// Returns what set_conditional() has stored for the node; nullopt if nothing was stored.
[[nodiscard]] std::optional<conditional_metadata> find_conditional_metadata(abi::CUgraph graph,
                                                                            abi::CUgraphNode node);

// Returns the child graphs of `graph` that weir knows, each with the node that contains it.
[[nodiscard]] std::vector<std::pair<abi::CUgraphNode, abi::CUgraph>> get_child_graphs(
    abi::CUgraph graph);

}  // namespace weir::detail
