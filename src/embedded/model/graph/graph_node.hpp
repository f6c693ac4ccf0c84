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

struct memset_params {
  abi::CUDA_MEMSET_NODE_PARAMS desc;
  abi::CUcontext in;
  bool captured = false;
};

struct copy_params {
  abi::CUDA_MEMCPY3D desc;
  abi::CUcontext in;
  bool fixed = false;  // executables of it take no other copy in its place
};

struct value_params {
  abi::CUcontext in;
  std::vector<abi::CUstreamBatchMemOpParams> operations;
};

struct child_params {
  graph* subgraph;  // the node's own
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
  std::vector<graph*> bodies;  // the node's own
  std::vector<abi::CUgraph>
      handles;  // of the bodies, for the program to read as long as the node is there
};

struct alloc_params {
  std::shared_ptr<graph_block> block;
  abi::CUDA_MEM_ALLOC_NODE_PARAMS desc;  // but for its access descriptors
  std::vector<abi::CUmemAccessDesc> access;
};

struct free_params {
  std::shared_ptr<graph_block> block;
};

struct kernel_params {
  std::shared_ptr<const kernel_work> desc;  // with those attributes that count
  abi::CUfunction function;                 // this and the next two as the program gave them
  abi::CUkernel kernel;
  abi::CUcontext in;
  std::map<abi::CUkernelNodeAttrID, abi::CUkernelNodeAttrValue>
      inert_attributes;  // attributes that have no effect

  // Takes over the attributes of another one.
  void copy_attributes_from(const kernel_params& of);
};

using node_params =
    std::variant<empty_params, abi::CUDA_HOST_NODE_PARAMS, memset_params, copy_params, value_params,
                 child_params, record_params, wait_params, conditional_params, alloc_params,
                 free_params, kernel_params>;

// Where an edge that is not an ordinary one comes from, and how: from a kernel, before it has
// ended.
struct programmatic_edge {
  const graph_node* from;
  abi::CUgraphEdgeData data;
};

// Objects are reused (handle_table.hpp). Guarded by the lock of the graphs (process::graphs_mutex).
struct graph_node {
  graph* in = nullptr;
  node_params params;
  node_list dependencies;  // in the order in which the edges were added; none twice
  node_list dependents;
  std::vector<programmatic_edge>
      programmatic_edges;  // of the edges to this node, those that are not ordinary
  abi::CUgraphNode cloned_from =
      nullptr;           // the handle of the node that a clone's node is the counterpart of
  std::size_t mark = 0;  // scratch of whoever walks the graph

  // Makes it a child graph node, with a graph that is its own from now on. A child graph that it
  // had ends.
  void set_child_graph(graph& child) noexcept;

  // The graphs that are its own: a child graph, or bodies.
  [[nodiscard]] std::span<graph* const> subgraphs() const noexcept;

  [[nodiscard]] abi::CUgraphNodeType type() const noexcept;
  [[nodiscard]] abi::CUgraphNode handle() const noexcept;
};

// Many nodes are more than a cache holds, and reading them one by one is waiting for memory: who
// walks along a list of them asks, at each, for one that comes later.
inline constexpr std::size_t prefetch_distance = 8;
inline void prefetch_node(const graph_node* upcoming) noexcept {
  __builtin_prefetch(&upcoming->params);
  __builtin_prefetch(&upcoming->dependencies);  // and with it the kind of the node
}
inline void prefetch_node(const std::vector<graph_node*>& list, std::size_t at) noexcept {
  if (at + prefetch_distance < list.size()) prefetch_node(list[at + prefetch_distance]);
}

// Releases a node's own parts and gives the object back.
void destroy_node(graph_node& node) noexcept;

}  // namespace weir::embedded::model
