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

// A graph that the program builds explicitly or by capture. A graph may have cycles, but such a
// graph cannot be instantiated. Objects are reused (handle_table.hpp): make() begins a lifetime,
// destroy() ends it.
//
// Thread safety: none; the caller holds the lock of the graphs (process::graphs_mutex).
class graph {
 public:
  // Makes a graph and its handle. Throws std::bad_alloc.
  static graph& make();

  // Destroys the graph and its nodes, and releases its user objects.
  void destroy() noexcept;

  // Destroys all nodes and releases the user objects. The graph itself and its conditions stay.
  void clear() noexcept;

  // Returns a graph with copies of all nodes, edges and child graphs, and references to the user
  // objects. Each copy has the handle of its original in graph_node::cloned_from. Must not be
  // called for a graph that is_noncopyable(). Throws std::bad_alloc.
  [[nodiscard]] graph& clone() const;

  // Adds a node after `dependencies`, which are distinct nodes of this graph. Throws std::bad_alloc
  // without adding anything.
  graph_node& add(node_params params, std::span<graph_node* const> dependencies);

  // Removes a node and its edges.
  void remove(graph_node& node) noexcept;

  // Adds an edge between two nodes of a graph that are not connected yet. Throws std::bad_alloc
  // without adding anything.
  static void connect(graph_node& dependency, graph_node& dependent,
                      const abi::CUgraphEdgeData& data = {});
  // Removes the edge between two connected nodes.
  static void disconnect(graph_node& dependency, graph_node& dependent) noexcept;
  [[nodiscard]] static bool connected(const graph_node& dependency,
                                      const graph_node& dependent) noexcept;

  // Returns true if the data of an edge is all zero.
  [[nodiscard]] static bool is_ordinary(const abi::CUgraphEdgeData& data) noexcept;
  // Returns true if an edge between these nodes may have this data: all zero for an ordinary edge,
  // or the data of a programmatic edge between two kernel nodes. On a GPU, a programmatic edge lets
  // the second kernel begin before the first has ended. Here the second kernel begins afterwards.
  [[nodiscard]] static bool allows_edge(const graph_node& dependency, const graph_node& dependent,
                                        const abi::CUgraphEdgeData& data);
  // Returns the data of an edge; all zero for an ordinary edge.
  [[nodiscard]] static abi::CUgraphEdgeData edge_data_of(const graph_node& dependency,
                                                         const graph_node& dependent) noexcept;
  // Sets the data of an edge that has had none so far, before or after the nodes are connected.
  // Throws std::bad_alloc without changing the edge.
  static void set_edge_data(const graph_node& dependency, graph_node& dependent,
                            const abi::CUgraphEdgeData& data);

  // Returns this clone's copy of a node of the original graph, or null. Throws std::bad_alloc.
  [[nodiscard]] graph_node* counterpart(const graph_node& original);

  // Returns the nodes in topological order: each node after its dependencies. In a graph with a
  // cycle, the nodes on cycles and after them are missing.
  [[nodiscard]] std::vector<graph_node*> topological_order() const;

  // Returns a node on or after a cycle in this graph or a subgraph, or null. `order` is the result
  // of topological_order(), and the nodes still have the marks that it set.
  [[nodiscard]] graph_node* find_cycle(const std::vector<graph_node*>& order) const;

  // Returns the nodes in the order of their creation.
  [[nodiscard]] const std::vector<graph_node*>& nodes() const noexcept { return nodes_.all(); }

  [[nodiscard]] abi::CUgraph handle() const noexcept;

  // Returns its number in the order in which the process made its graphs; the first is 1.
  [[nodiscard]] std::size_t number() const noexcept { return number_; }

  // Returns true if this graph belongs to a node of another graph: it is the child graph of a child
  // graph node, or a body of a conditional node. It is destroyed with that node.
  [[nodiscard]] bool is_subgraph() const noexcept { return parent_ != nullptr; }
  [[nodiscard]] bool is_body() const noexcept { return kind_ == subgraph_kind::body; }
  void become_subgraph_of(graph& parent, subgraph_kind kind) noexcept;

  // Called when the node that owns this graph is destroyed. Destroys the graph at once, unless a
  // capture adds nodes to it or a subgraph. In that case it only leaves its parent, and the end of
  // the last such capture destroys it (capture.cpp).
  void on_node_destroyed() noexcept;
  // Returns the outermost graph that contains this one, if that graph is only kept for a capture
  // after on_node_destroyed(). Returns null otherwise.
  [[nodiscard]] graph* orphaned_root() noexcept;

  // Calls search(subgraph) for the subgraphs that nodes of this graph own, newest first, until a
  // result is neither null nor false. Returns the last result; null or false if there is none.
  template <class Search>
  [[nodiscard]] auto search_subgraphs(Search search) const {
    decltype(search(*this)) found{};
    for (const graph* subgraph = first_subgraph_; subgraph != nullptr && !found;
         subgraph = subgraph->next_subgraph_)
      found = search(*subgraph);
    return found;
  }

  // Returns the outermost graph that contains this graph; this graph if it is not a subgraph.
  [[nodiscard]] const graph& root() const noexcept;
  // Returns true if this graph is `outer_graph` or a subgraph of it, at any depth.
  [[nodiscard]] bool is_within(const graph& outer_graph) const noexcept;

  // Returns true if this graph or a subgraph has what cannot be copied: conditions, conditional
  // nodes, or nodes that allocate or free memory. Such a graph cannot be cloned, and can have only
  // one executable at a time.
  [[nodiscard]] bool is_noncopyable() const noexcept;

  // Returns true while a capture adds nodes to this graph. The program must not destroy the graph
  // or remove nodes during that time.
  [[nodiscard]] bool capturing() const noexcept { return capturing_; }
  // Returns true while a capture adds nodes to this graph or a subgraph.
  [[nodiscard]] bool has_capture_inside() const noexcept { return captures_inside_ != 0; }
  // Called when a capture begins to add nodes to this graph.
  void begin_capture() noexcept;
  // Called when the capture that adds nodes to this graph ends.
  void end_capture() noexcept;

  // Returns true if this graph or a subgraph has, or had a failed attempt to add, nodes that
  // allocate or free memory. The graph is
  // then is_noncopyable(), and its nodes and edges cannot be removed.
  [[nodiscard]] bool has_memory_nodes() const noexcept { return has_memory_nodes_; }
  // Called when this graph gets such a node. Also marks the graphs that contain this graph.
  void set_has_memory_nodes() noexcept;

  // Reserves a graph that is_noncopyable() for one executable. The executable keeps the returned
  // object, the claim, for its lifetime. `own_claim`: the claim that the calling executable already
  // holds, or null. Returns null while another executable holds the graph's claim. Throws
  // std::bad_alloc.
  [[nodiscard]] std::shared_ptr<void> claim_executable(
      const std::shared_ptr<void>& own_claim = nullptr) const;

  // The references to user objects that this graph holds (cuGraphRetainUserObject).
  user_object_references retained_objects;
  // Adds the user objects of this graph and its subgraphs to `receiver`. Throws std::bad_alloc.
  void share_retained_objects(user_object_references& receiver) const;

  // The conditions that were made for this graph, used by a node or not. They are destroyed with
  // the graph.
  std::vector<condition*> conditions;

 private:
  void leave_parent() noexcept;

  node_list nodes_;
  std::size_t number_ = 0;
  std::size_t nodes_made_ = 0;  // including removed ones
  graph* parent_ = nullptr;
  // The subgraphs of this graph's nodes form a list, which begins here.
  graph* first_subgraph_ = nullptr;
  // The neighbours of this graph in the list of its parent.
  graph* next_subgraph_ = nullptr;
  graph* previous_subgraph_ = nullptr;
  subgraph_kind kind_ = subgraph_kind::child;
  // True after on_node_destroyed() kept the graph for a capture.
  bool node_destroyed_ = false;
  bool capturing_ = false;
  // The number of captures that add nodes to this graph or a subgraph.
  std::uint32_t captures_inside_ = 0;
  bool has_memory_nodes_ = false;
  // The claim that claim_executable() returned; expired once no executable holds it.
  mutable std::weak_ptr<void> executable_;
  // Maps original nodes to this clone's copies, also to destroyed copies. Filled by the first call
  // of counterpart(). Later calls therefore do not read nodes_; reading it would make the removals
  // in between slow (node_list.hpp).
  std::unordered_map<abi::CUgraphNode, abi::CUgraphNode> counterparts_;
};

}  // namespace weir::embedded::model
