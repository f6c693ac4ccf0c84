// api/graph/graph_parts.hpp - which graphs are parts of others: the child graphs and the bodies
// that weir knows of.
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

// A graph that is a part of a node, a child graph or a body: has notes from then on
// (graph_book.hpp), of which there are none so far. What it is a part of has an open book.
enum class part_kind : unsigned char { child, body };
void add_part(abi::CUgraph part, abi::CUgraph of, abi::CUgraphNode node, part_kind kind);

// The memory for notes on so many parts of one node, taken before the node is made: it may be one
// that cannot be taken out again.
class part_reservation {
 public:
  explicit part_reservation(std::size_t parts);
  part_reservation(const part_reservation&) = delete;
  part_reservation& operator=(const part_reservation&) = delete;
  ~part_reservation();

  void add_library_module(abi::CUgraph part, abi::CUgraph of, abi::CUgraphNode node,
                          part_kind kind) noexcept;
  // One that was a root becomes a part, and keeps its notes.
  void add_moved_part(abi::CUgraph part, abi::CUgraph of, abi::CUgraphNode node) noexcept;
  // The bodies of a conditional node, which are all of these parts.
  void set_conditional(abi::CUgraph graph, abi::CUgraphNode node, unsigned type,
                       std::span<const abi::CUgraph> bodies) noexcept;

 private:
  struct storage;

  std::unique_ptr<storage> storage_;
};

[[nodiscard]] bool is_part_of(abi::CUgraph part, abi::CUgraph ancestor) noexcept;  // itself too
[[nodiscard]] bool is_part_of_node(abi::CUgraph part, abi::CUgraph ancestor,
                                   abi::CUgraphNode node) noexcept;
[[nodiscard]] bool is_in_body(abi::CUgraph graph) noexcept;
// The root that the graph is known to be a part of; itself if it is known to be none's.
[[nodiscard]] abi::CUgraph root_of(abi::CUgraph graph) noexcept;

// The driver has destroyed a graph, with a capture into it that broke: the notes on it go. If it
// was a part of another graph, that is lost with all its parts: the drivers of GPUs crash when it
// is used, and when it is destroyed.
void mark_destroyed(abi::CUgraph graph) noexcept;

// How many are lost. Nearly always none, which makes a look a load.
inline constinit std::atomic<int> lost_graph_count{0};
[[nodiscard]] inline bool any_lost_graph() noexcept {
  return lost_graph_count.load(std::memory_order_relaxed) != 0 && !in_forked_child();
}
// Is it lost, or a part of one that is?
[[nodiscard]] bool has_lost_root(abi::CUgraph graph) noexcept;
[[nodiscard]] inline bool is_lost(abi::CUgraph graph) noexcept {
  return any_lost_graph() && has_lost_root(graph);
}

// The bodies of a conditional node.
struct conditional_metadata {
  unsigned type = 0;
  std::vector<abi::CUgraph> bodies;
};
[[nodiscard]] std::optional<conditional_metadata> find_conditional_metadata(abi::CUgraph graph,
                                                                            abi::CUgraphNode node);

// The child graphs of a graph that are noted, with their nodes.
[[nodiscard]] std::vector<std::pair<abi::CUgraphNode, abi::CUgraph>> get_child_graphs(
    abi::CUgraph graph);

}  // namespace weir::detail
