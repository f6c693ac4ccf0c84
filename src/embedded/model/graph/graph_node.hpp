// model/graph_node.hpp - a node of a graph: its kind, its parameters, its edges.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "driver/abi.hpp"
#include "embedded/model/graph/node_list.hpp"

namespace weir::embedded::model {

class graph;
class kernel_work;
struct graph_block;
struct graph_node;

// What the program gave for a node of each kind, checked.

struct empty_params {};

struct set_params {
  abi::CUDA_MEMSET_NODE_PARAMS what;
  abi::CUcontext in;
  bool captured = false;
};

struct copy_params {
  abi::CUDA_MEMCPY3D what;
  abi::CUcontext in;
  bool fixed = false;  // executables of it take no other copy in its place
};

struct value_params {
  abi::CUcontext in;
  std::vector<abi::CUstreamBatchMemOpParams> operations;
};

struct child_params {
  graph* embedded;  // the node's own
};

struct record_params {
  abi::CUevent event;
};

struct wait_params {
  abi::CUevent event;
};

struct conditional_params {
  abi::CUgraphConditionalHandle condition;
  abi::CUgraphConditionalNodeType type;
  std::vector<graph*> bodies;         // the node's own
  std::vector<abi::CUgraph> handles;  // of the bodies, for the program to read as long as the node is there
};

struct alloc_params {
  std::shared_ptr<graph_block> block;
  abi::CUDA_MEM_ALLOC_NODE_PARAMS what;  // but for its access descriptors
  std::vector<abi::CUmemAccessDesc> access;
};

struct free_params {
  std::shared_ptr<graph_block> block;
};

struct kernel_params {
  std::shared_ptr<const kernel_work> what;  // with those attributes that count
  abi::CUfunction function;                 // this and the next two as the program gave them
  abi::CUkernel kernel;
  abi::CUcontext in;
  std::map<abi::CUkernelNodeAttrID, abi::CUkernelNodeAttrValue> told;  // attributes that have no effect

  // Takes over the attributes of another one.
  void take_attributes(const kernel_params& of);
};

using node_params =
    std::variant<empty_params, abi::CUDA_HOST_NODE_PARAMS, set_params, copy_params, value_params, child_params,
                 record_params, wait_params, conditional_params, alloc_params, free_params, kernel_params>;

// Where an edge that is not an ordinary one comes from, and how: from a kernel, before it has ended.
struct early_edge {
  const graph_node* from;
  abi::CUgraphEdgeData data;
};

// Objects are reused (handle_table.hpp). Guarded by the lock of the graphs (process::graphs_mutex).
struct graph_node {
  graph* in = nullptr;
  node_params params;
  node_list dependencies;  // in the order in which the edges were added; none twice
  node_list dependents;
  std::vector<early_edge> early;           // of the edges to this node, those that are not ordinary
  abi::CUgraphNode cloned_from = nullptr;  // the handle of the node that a clone's node is the counterpart of
  std::size_t mark = 0;                    // scratch of whoever walks the graph

  // Makes it a child graph node, with a graph that is its own from now on. A child graph that it had ends.
  void embed(graph& child) noexcept;

  // The graphs that are its own: a child graph, or bodies.
  [[nodiscard]] std::span<graph* const> inside() const noexcept;

  [[nodiscard]] abi::CUgraphNodeType type() const noexcept;
  [[nodiscard]] abi::CUgraphNode handle() const noexcept;
};

// Many nodes are more than a cache holds, and reading them one by one is waiting for memory: who walks along a list of
// them asks, at each, for one that comes later.
inline constexpr std::size_t look_ahead_distance = 8;
inline void look_ahead(const graph_node* coming) noexcept {
  __builtin_prefetch(&coming->params);
  __builtin_prefetch(&coming->dependencies);  // and with it the kind of the node
}
inline void look_ahead(const std::vector<graph_node*>& list, std::size_t at) noexcept {
  if (at + look_ahead_distance < list.size()) look_ahead(list[at + look_ahead_distance]);
}

// Releases a node's own parts and gives the object back.
void end_node(graph_node& node) noexcept;

}  // namespace weir::embedded::model
