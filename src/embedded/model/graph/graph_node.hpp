// SPDX-License-Identifier: Apache-2.0
// model/graph/graph_node.hpp - a node of a graph: kind, parameters and edges.
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

// The checked parameters of each kind of node.

struct empty_params {};

struct memset_params {
  abi::CUDA_MEMSET_NODE_PARAMS desc;
  abi::CUcontext context;
  bool captured = false;
};

struct copy_params {
  abi::CUDA_MEMCPY3D desc;
  abi::CUcontext context;
  bool fixed = false;  // executables accept no other copy for it
};

struct value_params {
  abi::CUcontext context;
  std::vector<abi::CUstreamBatchMemOpParams> operations;
};

struct child_params {
  graph* subgraph;  // owned by the node
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
  std::vector<graph*> bodies;  // owned by the node
  // The handles of the bodies, which the program may read while the node exists.
  std::vector<abi::CUgraph> handles;
};

struct alloc_params {
  std::shared_ptr<graph_block> block;
  abi::CUDA_MEM_ALLOC_NODE_PARAMS desc;  // without its access descriptors
  std::vector<abi::CUmemAccessDesc> access;
};

struct free_params {
  std::shared_ptr<graph_block> block;
};

struct kernel_params {
  std::shared_ptr<const kernel_work> desc;  // with the attributes that have an effect
  abi::CUfunction function;  // function, kernel and context: as the program gave them
  abi::CUkernel kernel;
  abi::CUcontext context;
  // Attributes without an effect.
  std::map<abi::CUkernelNodeAttrID, abi::CUkernelNodeAttrValue> inert_attributes;

  // Copies the attributes of another kernel node.
  void copy_attributes_from(const kernel_params& source_params);
};

using node_params =
    std::variant<empty_params, abi::CUDA_HOST_NODE_PARAMS, memset_params, copy_params, value_params,
                 child_params, record_params, wait_params, conditional_params, alloc_params,
                 free_params, kernel_params>;

// The source and data of an edge that is not ordinary: it starts at a kernel, before the kernel has
// ended.
struct programmatic_edge {
  const graph_node* dependency;
  abi::CUgraphEdgeData data;
};

// A node. Objects are reused (handle_table.hpp). Guarded by the lock of the graphs
// (process::graphs_mutex).
struct graph_node {
  graph* owner = nullptr;
  node_params params;
  node_list dependencies;  // in the order in which the edges were added; without duplicates
  node_list dependents;
  // The edges to this node that are not ordinary.
  std::vector<programmatic_edge> programmatic_edges;
  abi::CUgraphNode cloned_from = nullptr;  // the handle of the original of a cloned node
  std::size_t mark = 0;                    // scratch for graph traversals

  // Makes it a child graph node that owns `child`. Destroys its previous child graph.
  void set_child_graph(graph& child) noexcept;

  // Returns the graphs that the node owns: a child graph, or bodies.
  [[nodiscard]] std::span<graph* const> subgraphs() const noexcept;

  [[nodiscard]] abi::CUgraphNodeType type() const noexcept;
  [[nodiscard]] abi::CUgraphNode handle() const noexcept;
};

// Large graphs exceed the cache, and reading their nodes one by one waits for memory. A loop over a
// list of nodes therefore prefetches a later node.
inline constexpr std::size_t prefetch_distance = 8;
inline void prefetch_node(const graph_node* upcoming) noexcept {
  __builtin_prefetch(&upcoming->params);
  __builtin_prefetch(&upcoming->dependencies);  // and with it the kind of the node
}
inline void prefetch_node(const std::vector<graph_node*>& list, std::size_t index) noexcept {
  if (index + prefetch_distance < list.size()) prefetch_node(list[index + prefetch_distance]);
}

// Releases what a node owns, and returns the object for reuse.
void destroy_node(graph_node& node) noexcept;

}  // namespace weir::embedded::model
