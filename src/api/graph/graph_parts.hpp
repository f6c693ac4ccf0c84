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

// add_part() registers `part`, which has no metadata yet, as a child graph or a body of `node`.
// `parent_graph` must have metadata (graph_metadata.hpp).
enum class part_kind : unsigned char { child, body };
void add_part(abi::CUgraph part, abi::CUgraph parent_graph, abi::CUgraphNode node, part_kind kind);

// Memory for the metadata of `parts` parts of one node. Allocated before the node is added, because
// a node may not be removable again.
class part_reservation {
 public:
  explicit part_reservation(std::size_t parts);
  part_reservation(const part_reservation&) = delete;
  part_reservation& operator=(const part_reservation&) = delete;
  ~part_reservation();

  void add_part(abi::CUgraph part, abi::CUgraph parent_graph, abi::CUgraphNode node,
                part_kind kind) noexcept;
  // Turns a root graph into a part. It keeps its metadata.
  void add_moved_part(abi::CUgraph part, abi::CUgraph parent_graph, abi::CUgraphNode node) noexcept;
  // Stores the bodies of a conditional node, which are all parts of this reservation.
  void set_conditional(abi::CUgraph graph, abi::CUgraphNode node, unsigned type,
                       std::span<const abi::CUgraph> bodies) noexcept;

 private:
  struct storage;

  std::unique_ptr<storage> storage_;
};

// True also if both are one graph.
[[nodiscard]] bool is_part_of(abi::CUgraph part, abi::CUgraph ancestor) noexcept;
[[nodiscard]] bool is_part_of_node(abi::CUgraph part, abi::CUgraph ancestor,
                                   abi::CUgraphNode node) noexcept;
[[nodiscard]] bool is_in_body(abi::CUgraph graph) noexcept;
// Returns the root graph that contains `graph`, or `graph` itself if it is not known to be a part.
[[nodiscard]] abi::CUgraph root_of(abi::CUgraph graph) noexcept;

// Called when the driver has destroyed a graph because a capture into it was invalidated. Removes
// its metadata. If the graph was a part, its root and all parts of it become unusable: the drivers
// of GPUs crash when such a graph is used or destroyed.
void mark_destroyed(abi::CUgraph graph) noexcept;

// Number of unusable root graphs (mark_destroyed()). It is nearly always 0, so that a check costs
// one load.
inline constinit std::atomic<int> unusable_graph_count{0};
[[nodiscard]] inline bool any_unusable_graph() noexcept {
  return unusable_graph_count.load(std::memory_order_relaxed) != 0 && !os::in_forked_child();
}
// Returns true if the root of the graph is unusable. The graph may be the root itself.
[[nodiscard]] bool has_unusable_root(abi::CUgraph graph) noexcept;
[[nodiscard]] inline bool is_unusable(abi::CUgraph graph) noexcept {
  return any_unusable_graph() && has_unusable_root(graph);
}

struct conditional_metadata {
  unsigned type = 0;
  std::vector<abi::CUgraph> bodies;
};
[[nodiscard]] std::optional<conditional_metadata> find_conditional_metadata(abi::CUgraph graph,
                                                                            abi::CUgraphNode node);

// Returns the known child graphs of a graph with their nodes.
[[nodiscard]] std::vector<std::pair<abi::CUgraphNode, abi::CUgraph>> get_child_graphs(
    abi::CUgraph graph);

}  // namespace weir::detail
