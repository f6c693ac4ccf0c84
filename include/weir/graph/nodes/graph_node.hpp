// SPDX-License-Identifier: Apache-2.0
// weir/graph/nodes/graph_node.hpp - nodes and edges of graphs.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/export.hpp>

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <type_traits>
#include <vector>

namespace weir {

class graph_ref;
struct graph_edge;

namespace detail {

/// Tag for creating the typed view of a node whose kind is known.
struct known_kind {
  explicit known_kind() = default;
};

}  // namespace detail

/// The kind of a node. The values are those of the driver (CUgraphNodeType). A kind of a newer
/// driver that is not listed here is returned with the driver's value.
enum class node_kind : unsigned {
  kernel = 0,
  copy = 1,
  fill = 2,
  host_function = 3,
  child_graph = 4,
  empty = 5,
  event_wait = 6,
  event_record = 7,
  semaphore_signal = 8,
  semaphore_wait = 9,
  allocation = 10,
  free = 11,
  value_batch = 12,
  conditional = 13,
};

/// A borrowed node. Trivially copyable; pass by value. Valid until the node is removed or its graph
/// is destroyed.
///
/// A node belongs to one graph. Each clone of the graph has its own nodes. Using a removed node
/// throws `invalid_value` on the embedded driver; a GPU's driver does not detect it. Each kind has
/// a derived class, its typed view, with the queries and changes of that kind: fill_node, copy_node
/// and so on (graph_nodes.hpp includes all).
///
/// In a capture: allowed.
/// In a host function: throws `not_permitted`.
/// Thread safety: as graph_ref.
class WEIR_EXPORT graph_node {
 public:
  /// Creates a null node, which stands for no node. Members that call the driver throw
  /// `invalid_value` for it.
  constexpr graph_node() noexcept = default;
  /// Refers to a node of the driver. If `graph` is null, the node can be queried and changed, but
  /// set() refuses parameters that keep owners.
  constexpr explicit graph_node(CUgraphNode_st* handle, CUgraph_st* graph = nullptr) noexcept
      : handle_{handle}, graph_{graph} {}
  graph_node(int) = delete;  // 0 is not a node

  /// Returns the kind of the node.
  ///
  /// Driver: cuGraphNodeGetType.
  [[nodiscard]] node_kind kind(call_site at = call_site::current()) const;

  /// Returns the typed view of the node: node.as<fill_node>(). weir::visit() (graph_nodes.hpp)
  /// calls a function with the view that fits the kind of the node.
  ///
  /// Throws: `wrong_type`, with both kinds in the text, if the node has another kind.
  /// Driver: cuGraphNodeGetType.
  template <class View>
  requires std::derived_from<View, graph_node>
  [[nodiscard]] View as(call_site at = call_site::current()) const {
    require_kind(View::kind(), at);
    return View{detail::known_kind{}, *this};
  }

  /// Returns the edges that lead to the node.
  ///
  /// Driver: cuGraphNodeGetDependencies.
  [[nodiscard]] std::vector<graph_edge> dependencies(call_site at = call_site::current()) const;
  /// Returns the edges that start at the node.
  ///
  /// Driver: cuGraphNodeGetDependentNodes.
  [[nodiscard]] std::vector<graph_edge> dependents(call_site at = call_site::current()) const;

  /// Returns the graph of the node; a null reference if the constructor got none. No driver call.
  /// Include weir/graph/graph.hpp.
  [[nodiscard]] constexpr graph_ref graph() const noexcept;

  /// Returns the driver's handle. No driver call.
  [[nodiscard]] constexpr CUgraphNode_st* get() const noexcept { return handle_; }
  /// Returns true unless the node is null.
  constexpr explicit operator bool() const noexcept { return handle_ != nullptr; }
  /// Returns true if both have one handle.
  friend constexpr bool operator==(graph_node a, graph_node b) noexcept {
    return a.handle_ == b.handle_;
  }

 private:
  /// Throws `wrong_type` if the node has another kind.
  void require_kind(node_kind kind, call_site at) const;

  CUgraphNode_st* handle_ = nullptr;
  CUgraph_st* graph_ = nullptr;  ///< the graph of the node; null if not known
};

static_assert(std::is_trivially_copyable_v<graph_node> && sizeof(graph_node) == 2 * sizeof(void*),
              "in two registers");

namespace detail {

/// The base class of the typed views.
template <node_kind Kind>
class typed_node : public graph_node {
 public:
  constexpr typed_node() noexcept = default;
  constexpr typed_node(known_kind, graph_node node) noexcept : graph_node{node} {}

  /// Returns the kind of all nodes of this view. No driver call.
  [[nodiscard]] static constexpr node_kind kind(call_site = {}) noexcept { return Kind; }
};

}  // namespace detail

/// Says which part of its source an edge waits for, and which part of its target waits. If all
/// members are zero, as usual, the whole target waits for the end of the source. Only edges between
/// kernels can have other values. The values are those of the driver (CUgraphEdgeData).
struct edge_data {
  unsigned char from_port = 0;  ///< the part of the source; 0: its end
  unsigned char to_port = 0;    ///< the part of the target; 0: all of it
  unsigned char type = 0;       ///< CUgraphDependencyType; 0: an ordinary dependency

  friend constexpr bool operator==(const edge_data&, const edge_data&) noexcept = default;
};

/// A dependency: `target` starts after the end of `source`, or as its edge_data says.
struct graph_edge {
  graph_node source;
  graph_node target;
  edge_data data;

  friend constexpr bool operator==(const graph_edge&, const graph_edge&) noexcept = default;
};

/// The nodes that a new node depends on: {a, b}, one node, or a type with data() and size() that
/// holds graph_nodes; empty by default. For use as a parameter only: it does not own the nodes.
class dependency_list {
 public:
  /// Depends on no node.
  constexpr dependency_list() noexcept = default;
  /// Depends on one node.
  constexpr dependency_list(const graph_node& node) noexcept : first_{&node}, size_{1} {}
  /// Depends on several nodes, as {a, b}.
  constexpr dependency_list(std::initializer_list<graph_node> nodes) noexcept
      : dependency_list(nodes.begin(), nodes.size()) {}
  /// Depends on the nodes of a range.
  template <class Nodes>
  requires requires(const Nodes& nodes) {
    { nodes.data() } -> std::same_as<const graph_node*>;
    { nodes.size() } -> std::convertible_to<std::size_t>;
  }
  constexpr dependency_list(const Nodes& nodes) noexcept
      : dependency_list(nodes.data(), nodes.size()) {}

  /// Returns the first node.
  [[nodiscard]] constexpr const graph_node* begin() const noexcept { return first_; }
  /// Returns the position behind the last node.
  [[nodiscard]] constexpr const graph_node* end() const noexcept { return first_ + size_; }
  /// Returns the number of nodes.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }

 private:
  constexpr dependency_list(const graph_node* first, std::size_t size) noexcept
      : first_{first}, size_{size} {}

  const graph_node* first_ = nullptr;
  std::size_t size_ = 0;
};

namespace detail {

/// A class that describes what a node of one kind does, for adding or changing a node:
/// fill_parameters, copy_parameters and so on.
template <class Parameters>
concept node_parameters = std::derived_from<typename Parameters::node_type, graph_node>;

/// The place of a new node: in `graph`, after the nodes in `dependencies`.
struct insertion_point {
  CUgraph_st* graph;
  dependency_list dependencies;
};

class keep_alive_ref;
struct region;

/// The owners (keep_alive.hpp) that node parameters hold: a view of an array inside the parameters.
struct owner_list {
  const keep_alive_ref* first = nullptr;
  std::size_t size = 0;
};

/// Gives graphs, nodes and executables access to the private members of node parameters.
struct node_access {
  template <class Parameters>
  [[nodiscard]] static CUgraphNode_st* add(const Parameters& parameters, insertion_point point,
                                           call_site at) {
    return parameters.add_to(point, at);
  }
  template <class Parameters>
  static void set_in_graph(const Parameters& parameters, graph_node node, call_site at) {
    parameters.set_in_graph(node, at);
  }
  template <class Parameters>
  static void set_in_exec(const Parameters& parameters, CUgraphExec_st* exec, graph_node node,
                          call_site at) {
    parameters.set_in_exec(exec, node, at);
  }
  /// Returns what an executable keeps alive for the node: an owner_list, or an object that converts
  /// to one and must outlive it.
  template <class Parameters>
  [[nodiscard]] static auto owners_in_exec(const Parameters& parameters, call_site at) {
    if constexpr (requires { parameters.owners_in_exec(at); }) {
      return parameters.owners_in_exec(at);
    } else if constexpr (requires { parameters.owners(); }) {
      return parameters.owners();
    } else {
      return owner_list{};
    }
  }
  /// Returns the memory that the node uses, as far as weir knows it.
  template <class Parameters>
  [[nodiscard]] static std::vector<region> memory_of(const Parameters& parameters) {
    if constexpr (requires { parameters.memory(); }) {
      return parameters.memory();
    } else {
      return {};
    }
  }
};

/// A node whose parameters can change after it was added.
template <node_kind Kind, class Parameters>
class settable_node : public typed_node<Kind> {
 public:
  using typed_node<Kind>::typed_node;

  /// Sets the parameters of the node for executables that are instantiated later. For an existing
  /// executable use graph_exec::set(). The graph releases the owners of the old parameters.
  ///
  /// Driver: the call that sets parameters of this kind of node, such as
  /// cuGraphMemcpyNodeSetParams.
  void set(const Parameters& parameters, call_site at = call_site::current()) const {
    node_access::set_in_graph(parameters, *this, at);
  }
};

}  // namespace detail
}  // namespace weir
