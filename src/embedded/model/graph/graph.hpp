// model/graph.hpp - a graph: operations and the order between them, to be instantiated and
// launched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "driver/abi.hpp"
#include "embedded/model/core/user_object.hpp"
#include "embedded/model/graph/graph_node.hpp"

namespace weir::embedded::model {

struct condition;

// A graph that the program builds by hand or by capture. May have cycles; only an executable must
// not. Objects are reused (handle_table.hpp): make() begins a life, destroy() ends it.
//
// Not locked: who uses a graph or its nodes holds the lock of the graphs (process::graphs_mutex).
class graph {
 public:
  // A new one, with its handle. Throws std::bad_alloc.
  static graph& make();

  // Ends its life and its nodes' lives, and drops the user objects that it holds.
  void destroy() noexcept;

  // The same, but it lives on without nodes.
  void clear() noexcept;

  // A graph with the same nodes and edges; the nodes know whom they were cloned from. Child graphs
  // are cloned, too. Not of one that is_noncopyable(). Throws std::bad_alloc.
  [[nodiscard]] graph& clone() const;

  // Adds a node behind others of this graph, none of them named twice. Throws std::bad_alloc, and
  // then nothing was added.
  graph_node& add(node_params params, std::span<graph_node* const> dependencies);

  // Takes a node and its edges out.
  void remove(graph_node& node) noexcept;

  // Throws std::bad_alloc, and then nothing was added.
  static void connect(graph_node& from, graph_node& to, const abi::CUgraphEdgeData& data = {});
  static void disconnect(graph_node& from, graph_node& to) noexcept;
  [[nodiscard]] static bool connected(const graph_node& from, const graph_node& to) noexcept;

  // The data of edges: all zero for ordinary ones. Between two kernels an edge may also say that
  // the second one begins before the first has ended; what runs here begins when it has. It may be
  // told once two nodes are connected. Throws std::bad_alloc, and then the edge is what it was.
  [[nodiscard]] static bool allows_edge(const graph_node& from, const graph_node& to,
                                        const abi::CUgraphEdgeData& data);
  [[nodiscard]] static abi::CUgraphEdgeData edge_data_of(const graph_node& from,
                                                         const graph_node& to) noexcept;
  static void set_edge_data(const graph_node& from, graph_node& to,
                            const abi::CUgraphEdgeData& data);

  // This graph's counterpart of a node of the graph that it is a clone of; null where there is
  // none.
  [[nodiscard]] graph_node* counterpart(abi::CUgraphNode original);

  // The nodes in an order in which each comes after those that it depends on, oldest first. Of a
  // graph with a cycle some are missing: those on cycles and behind them.
  [[nodiscard]] std::vector<graph_node*> topological_order() const;

  // A node on a cycle, or behind one, of this graph or of a part; null where all is in order.
  [[nodiscard]] graph_node* find_cycle() const;
  [[nodiscard]] graph_node* find_cycle(
      const std::vector<graph_node*>& order) const;  // topological_order() was this just now

  // In the order of their creation.
  [[nodiscard]] const std::vector<graph_node*>& nodes() const noexcept { return nodes_.all(); }
  [[nodiscard]] std::size_t edge_count() const noexcept;

  [[nodiscard]] abi::CUgraph handle() const noexcept;

  // Part of a node of another graph, which it ends with: a child graph, or a body of a conditional
  // node.
  [[nodiscard]] bool is_subgraph() const noexcept { return parent_ != nullptr; }
  [[nodiscard]] bool is_body() const noexcept { return is_body_; }
  void become_subgraph_of(graph& parent, bool as_body) noexcept;

  // Its node ends, and so does it: at once, or with the last capture that adds to it or to a part.
  // Until then it, or the one around it that has lost its node, is left behind.
  void on_node_destroyed() noexcept;
  [[nodiscard]] graph* orphaned_root() noexcept;

  // The graphs that are parts of its nodes: the first, and the one after this.
  [[nodiscard]] const graph* first_subgraph() const noexcept { return first_subgraph_; }
  [[nodiscard]] const graph* next_subgraph() const noexcept { return next_subgraph_; }

  // The graph that it is a part of, through all that are parts themselves; itself if it is none.
  [[nodiscard]] const graph& root() const noexcept;
  // Is it the other, or part of one that is?
  [[nodiscard]] bool is_within(const graph& other) const noexcept;

  // Does it, or a part, have nodes of which there is one only? Then it has no clones, and one
  // executable at a time.
  [[nodiscard]] bool is_noncopyable() const noexcept;

  // A capture adds to it. Meanwhile the program may not destroy it, nor take nodes out.
  [[nodiscard]] bool capturing() const noexcept { return capturing_; }
  [[nodiscard]] bool has_capture_inside() const noexcept {
    return captures_inside_ != 0;
  }  // to it or to a part
  void set_capturing(bool now) noexcept;

  // Does it, or a child graph, have nodes that allocate or free memory? Then it is_noncopyable(),
  // and no node and no edge is taken out.
  [[nodiscard]] bool has_memory_nodes() const noexcept { return has_memory_nodes_; }
  void set_has_memory_nodes() noexcept;

  // Of one that is_noncopyable(): what its executable holds for as long as it is that. Null while
  // another one does. Throws std::bad_alloc.
  [[nodiscard]] std::shared_ptr<void> claim_executable(
      const std::shared_ptr<void>& own = nullptr) const;

  user_object_references retained_objects;
  void share_retained_objects(
      user_object_references& with) const;  // the parts' too; throws std::bad_alloc

  std::vector<condition*> conditions;  // that belong to it, used or not; they end with it

 private:
  void leave_parent() noexcept;

  node_list nodes_;
  graph* parent_ = nullptr;
  graph* first_subgraph_ = nullptr;
  graph* next_subgraph_ = nullptr;
  graph* previous_subgraph_ = nullptr;
  bool is_body_ = false;
  bool node_destroyed_ = false;
  bool capturing_ = false;
  std::uint32_t captures_inside_ = 0;
  bool has_memory_nodes_ = false;
  mutable std::weak_ptr<void> executable_;
  std::unordered_map<abi::CUgraphNode, abi::CUgraphNode>
      counterparts_;  // made when first asked for
};

}  // namespace weir::embedded::model
