// SPDX-License-Identifier: Apache-2.0
// model/graph/graph.hpp - a graph: nodes and the dependencies between them.
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

enum class subgraph_kind : std::uint8_t { child, body };

// A graph that the program builds explicitly or by capture. It may have cycles; only an executable
// must not. Objects are reused (handle_table.hpp): make() begins a lifetime, destroy() ends it.
//
// Thread safety: none; the caller holds the lock of the graphs (process::graphs_mutex).
class graph {
 public:
  // Makes a graph and its handle. Throws std::bad_alloc.
  static graph& make();

  // Destroys the graph and its nodes, and releases its user objects.
  void destroy() noexcept;

  // Like destroy(), but keeps the graph, without nodes.
  void clear() noexcept;

  // Returns a graph with copies of all nodes, edges and child graphs. The copies refer to the
  // original nodes. Not for is_noncopyable() graphs. Throws std::bad_alloc.
  [[nodiscard]] graph& clone() const;

  // Adds a node after `dependencies`, which are distinct nodes of this graph. Throws std::bad_alloc
  // without adding anything.
  graph_node& add(node_params params, std::span<graph_node* const> dependencies);

  // Removes a node and its edges.
  void remove(graph_node& node) noexcept;

  // Throws std::bad_alloc without adding anything.
  static void connect(graph_node& dependency, graph_node& dependent,
                      const abi::CUgraphEdgeData& data = {});
  static void disconnect(graph_node& dependency, graph_node& dependent) noexcept;
  [[nodiscard]] static bool connected(const graph_node& dependency,
                                      const graph_node& dependent) noexcept;

  // The data of edges; all zero for ordinary edges. A programmatic edge between two kernels lets
  // the second begin before the first has ended; here it begins afterwards. set_edge_data() may be
  // called after connecting the nodes. Throws std::bad_alloc without changing the edge.
  [[nodiscard]] static bool allows_edge(const graph_node& dependency, const graph_node& dependent,
                                        const abi::CUgraphEdgeData& data);
  [[nodiscard]] static abi::CUgraphEdgeData edge_data_of(const graph_node& dependency,
                                                         const graph_node& dependent) noexcept;
  static void set_edge_data(const graph_node& dependency, graph_node& dependent,
                            const abi::CUgraphEdgeData& data);

  // Returns this clone's copy of a node of the original graph, or null.
  [[nodiscard]] graph_node* counterpart(abi::CUgraphNode original);

  // Returns the nodes in topological order, oldest first. In a graph with a cycle, the nodes on
  // cycles and after them are missing.
  [[nodiscard]] std::vector<graph_node*> topological_order() const;

  // Returns a node on or after a cycle in this graph or a subgraph, or null.
  [[nodiscard]] graph_node* find_cycle() const;
  // `order` is the current topological_order()
  [[nodiscard]] graph_node* find_cycle(const std::vector<graph_node*>& order) const;

  // Returns the nodes in the order of their creation.
  [[nodiscard]] const std::vector<graph_node*>& nodes() const noexcept { return nodes_.all(); }
  [[nodiscard]] std::size_t edge_count() const noexcept;

  [[nodiscard]] abi::CUgraph handle() const noexcept;

  // Subgraphs belong to a node of another graph, and are destroyed with it: a child graph, or a
  // body of a conditional node.
  [[nodiscard]] bool is_subgraph() const noexcept { return parent_ != nullptr; }
  [[nodiscard]] bool is_body() const noexcept { return kind_ == subgraph_kind::body; }
  void become_subgraph_of(graph& parent, subgraph_kind kind) noexcept;

  // on_node_destroyed() is called when the owning node is destroyed. It destroys the graph at once,
  // or when the last capture into it or its subgraphs ends. Until then orphaned_root() returns the
  // graph that lost its node, this one or an enclosing one; otherwise null.
  void on_node_destroyed() noexcept;
  [[nodiscard]] graph* orphaned_root() noexcept;

  // The subgraphs of its nodes form a list: the first one, and the one after this graph.
  [[nodiscard]] const graph* first_subgraph() const noexcept { return first_subgraph_; }
  [[nodiscard]] const graph* next_subgraph() const noexcept { return next_subgraph_; }

  // Returns the outermost graph that contains it; itself if it is not a subgraph.
  [[nodiscard]] const graph& root() const noexcept;
  // Returns true if it is `outer_graph` or a subgraph of it, at any depth.
  [[nodiscard]] bool is_within(const graph& outer_graph) const noexcept;

  // Returns true if it or a subgraph has nodes that cannot be copied. Such a graph cannot be cloned
  // and can have one executable at a time.
  [[nodiscard]] bool is_noncopyable() const noexcept;

  // Returns true while a capture adds nodes to this graph. The program must not destroy the graph
  // or remove nodes during that time.
  [[nodiscard]] bool capturing() const noexcept { return capturing_; }
  // Returns true while a capture adds nodes to this graph or a subgraph.
  [[nodiscard]] bool has_capture_inside() const noexcept { return captures_inside_ != 0; }
  void begin_capture() noexcept;
  void end_capture() noexcept;

  // Returns true if this graph or a child graph has nodes that allocate or free memory. The graph
  // is then is_noncopyable(), and its nodes and edges cannot be removed.
  [[nodiscard]] bool has_memory_nodes() const noexcept { return has_memory_nodes_; }
  void set_has_memory_nodes() noexcept;

  // For is_noncopyable() graphs: returns the claim that its executable holds while it exists.
  // `own_claim`: the claim that the caller holds. Returns null while another executable holds the
  // claim. Throws std::bad_alloc.
  [[nodiscard]] std::shared_ptr<void> claim_executable(
      const std::shared_ptr<void>& own_claim = nullptr) const;

  user_object_references retained_objects;
  // Includes the objects of subgraphs. Throws std::bad_alloc.
  void share_retained_objects(user_object_references& receiver) const;

  // The conditions that belong to it, used or not; they are destroyed with it.
  std::vector<condition*> conditions;

 private:
  void leave_parent() noexcept;

  node_list nodes_;
  graph* parent_ = nullptr;
  graph* first_subgraph_ = nullptr;
  graph* next_subgraph_ = nullptr;
  graph* previous_subgraph_ = nullptr;
  subgraph_kind kind_ = subgraph_kind::child;
  bool node_destroyed_ = false;
  bool capturing_ = false;
  std::uint32_t captures_inside_ = 0;
  bool has_memory_nodes_ = false;
  mutable std::weak_ptr<void> executable_;
  // Made at the first counterpart().
  std::unordered_map<abi::CUgraphNode, abi::CUgraphNode> counterparts_;
};

}  // namespace weir::embedded::model
