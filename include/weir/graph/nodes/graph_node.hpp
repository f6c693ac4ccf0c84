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

// Makes the typed view of a node whose kind is known.
struct known_kind {
  explicit known_kind() = default;
};

}  // namespace detail

// What a node does; the numbers are the driver's. Kinds that are newer than this list keep their
// number.
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

// A node, borrowed: valid while its graph is and until it is removed from it. Trivially copyable;
// pass by value. It names a node of that graph and of no other: a clone and an executable have
// nodes of their own. One that was removed names nothing, and a GPU's driver does not find that
// out; the embedded driver answers invalid_value. Each kind has a view with what can be asked and
// changed of it: fill_node, copy_node, ... (graph_nodes.hpp has all). Thread safety: as graph_ref.
// In a capture: allowed. In a host function: refused (not_permitted).
class WEIR_EXPORT graph_node {
 public:
  // None. What there is no node of answers with it.
  constexpr graph_node() noexcept = default;
  // One of somebody else's. Whose graph is not told can be asked and changed, but not with owners
  // to keep.
  constexpr explicit graph_node(CUgraphNode_st* handle, CUgraph_st* graph = nullptr) noexcept
      : handle_{handle}, graph_{graph} {}
  graph_node(int) = delete;  // 0 is not a node

  // cuGraphNodeGetType.
  [[nodiscard]] node_kind kind(call_site at = call_site::current()) const;

  // The same node as what it is: node.as<fill_node>(). One of another kind: wrong_type, with both
  // kinds in the text. weir::visit() (graph_nodes.hpp) chooses among all of them.
  // cuGraphNodeGetType.
  template <class View>
  requires std::derived_from<View, graph_node>
  [[nodiscard]] View as(call_site at = call_site::current()) const {
    expect(View::kind(), at);
    return View{detail::known_kind{}, *this};
  }

  // The edges that lead to it, and from it. cuGraphNodeGetDependencies,
  // cuGraphNodeGetDependentNodes.
  [[nodiscard]] std::vector<graph_edge> dependencies(call_site at = call_site::current()) const;
  [[nodiscard]] std::vector<graph_edge> dependents(call_site at = call_site::current()) const;

  // The graph that it is a node of; a null one if nobody told. No driver call. Include
  // weir/graph/graph.hpp.
  [[nodiscard]] constexpr graph_ref graph() const noexcept;

  [[nodiscard]] constexpr CUgraphNode_st* get() const noexcept { return handle_; }
  constexpr explicit operator bool() const noexcept { return handle_ != nullptr; }
  friend constexpr bool operator==(graph_node a, graph_node b) noexcept {
    return a.handle_ == b.handle_;
  }

 private:
  void expect(node_kind kind, call_site at) const;

  CUgraphNode_st* handle_ = nullptr;
  CUgraph_st* graph_ = nullptr;
};

static_assert(std::is_trivially_copyable_v<graph_node> && sizeof(graph_node) == 2 * sizeof(void*),
              "in two registers");

namespace detail {

// What the views of all kinds have.
template <node_kind Kind>
class typed_node : public graph_node {
 public:
  constexpr typed_node() noexcept = default;
  constexpr typed_node(known_kind, graph_node node) noexcept : graph_node{node} {}

  // Known without a driver call.
  [[nodiscard]] static constexpr node_kind kind(call_site = {}) noexcept { return Kind; }
};

}  // namespace detail

// What of the earlier node an edge waits for. All zero, as nearly always: its end.
struct edge_data {
  unsigned char from_port = 0;
  unsigned char to_port = 0;
  unsigned char type = 0;

  friend constexpr bool operator==(const edge_data&, const edge_data&) noexcept = default;
};

// An order between two nodes.
struct graph_edge {
  graph_node from;
  graph_node to;
  edge_data data;

  friend constexpr bool operator==(const graph_edge&, const graph_edge&) noexcept = default;
};

// The nodes that a new node comes after: {a, b}, or one node, or anything with data() and size()
// that holds graph_nodes; none at all by default. For arguments only: it does not hold them.
class dependency_list {
 public:
  constexpr dependency_list() noexcept = default;
  constexpr dependency_list(const graph_node& one) noexcept : first_{&one}, size_{1} {}
  constexpr dependency_list(std::initializer_list<graph_node> nodes) noexcept
      : dependency_list(nodes.begin(), nodes.size()) {}
  template <class Nodes>
  requires requires(const Nodes& nodes) {
    { nodes.data() } -> std::same_as<const graph_node*>;
    { nodes.size() } -> std::convertible_to<std::size_t>;
  }
  constexpr dependency_list(const Nodes& nodes) noexcept
      : dependency_list(nodes.data(), nodes.size()) {}

  [[nodiscard]] constexpr const graph_node* begin() const noexcept { return first_; }
  [[nodiscard]] constexpr const graph_node* end() const noexcept { return first_ + size_; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }

 private:
  constexpr dependency_list(const graph_node* first, std::size_t size) noexcept
      : first_{first}, size_{size} {}

  const graph_node* first_ = nullptr;
  std::size_t size_ = 0;
};

namespace detail {

// What adds a node of one kind, and changes it: fill_parameters, copy_parameters, ...
template <class What>
concept node_parameters = std::derived_from<typename What::node_type, graph_node>;

class keep_alive_ref;

// Owners that parameters brought along.
struct owner_list {
  const keep_alive_ref* first = nullptr;
  std::size_t size = 0;
};

// The way of graphs, nodes and executables to what parameters do in the driver.
struct node_access {
  template <class What>
  [[nodiscard]] static CUgraphNode_st* add(const What& what, CUgraph_st* to, dependency_list after,
                                           call_site at) {
    return what.add_to(to, after, at);
  }
  template <class What>
  static void set_on(const What& what, graph_node node, call_site at) {
    what.set_on(node, at);
  }
  template <class What>
  static void set_in(const What& what, CUgraphExec_st* exec, graph_node node, call_site at) {
    what.set_in(exec, node, at);
  }
  template <class What>
  [[nodiscard]] static owner_list owners_of(const What& what) noexcept {
    if constexpr (requires { what.owners(); }) {
      return what.owners();
    } else {
      return {};
    }
  }
  // What an executable keeps for it: an owner_list, or what converts to one.
  template <class What>
  [[nodiscard]] static auto owners_in_exec(const What& what, call_site at) {
    if constexpr (requires { what.owners_in_exec(at); }) {
      return what.owners_in_exec(at);
    } else {
      return owners_of(what);
    }
  }
};

}  // namespace detail
}  // namespace weir
