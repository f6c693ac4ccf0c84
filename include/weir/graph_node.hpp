// weir/graph_node.hpp - nodes and edges of graphs.
#pragma once

#include <weir/call_site.hpp>
#include <weir/export.hpp>
#include <weir/handle.hpp>

#include <type_traits>

namespace weir {

// What a node does; the numbers are the driver's. Kinds that are newer than this list keep their number.
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

// A node, borrowed: valid while its graph is and until it is removed from it. Trivially copyable; pass by value.
// It names a node of that graph and of no other: a clone and an executable have nodes of their own.
class WEIR_EXPORT graph_node {
 public:
  // None. What there is no node of answers with it.
  constexpr graph_node() noexcept = default;
  constexpr explicit graph_node(CUgraphNode_st* handle) noexcept : handle_{handle} {}
  graph_node(int) = delete;  // 0 is not a node

  // In a capture: allowed. In a host function: refused. cuGraphNodeGetType.
  [[nodiscard]] node_kind kind(call_site at = call_site::current()) const;

  [[nodiscard]] constexpr CUgraphNode_st* get() const noexcept { return handle_; }
  constexpr explicit operator bool() const noexcept { return handle_ != nullptr; }
  friend constexpr bool operator==(graph_node, graph_node) noexcept = default;

 private:
  CUgraphNode_st* handle_ = nullptr;
};

static_assert(std::is_trivially_copyable_v<graph_node> && sizeof(graph_node) == sizeof(void*));

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

}  // namespace weir
