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

// The parameters of each kind of node. They were checked when the program set them.

struct empty_params {};

struct memset_params {
  abi::CUDA_MEMSET_NODE_PARAMS desc;
  abi::CUcontext context;
  // True for a node that a capture made.
  bool captured = false;
  // True if the driver did not know the memory when the memset was captured. Such a node cannot be
  // instantiated.
  bool unknown = false;
};

struct copy_params {
  abi::CUDA_MEMCPY3D desc;
  abi::CUcontext context;
  // True if the parameters were set without a current context, for memory of a pool, which has no
  // context either. Executables then accept no change of the copy.
  bool fixed = false;
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
  // As the program gave it, but with the address; `access` replaces its access descriptors.
  abi::CUDA_MEM_ALLOC_NODE_PARAMS desc;
  std::vector<abi::CUmemAccessDesc> access;
};

struct free_params {
  std::shared_ptr<graph_block> block;
};

struct kernel_params {
  std::shared_ptr<const kernel_work> desc;  // the launch, with the attributes that have an effect
  abi::CUfunction function;  // `function`, `kernel` and `context` are as the program gave them
  abi::CUkernel kernel;
  abi::CUcontext context;
  // Attributes that have no effect here, kept so that the program can query them.
  std::map<abi::CUkernelNodeAttrID, abi::CUkernelNodeAttrValue> inert_attributes;

  // Copies the launch attributes of another launch: priority, cooperative and cluster. Returns the
  // errors of check_kernel_node_shape(), without changing anything. Throws std::bad_alloc.
  abi::CUresult copy_launch_attributes(const kernel_work& source_work);
  // Copies all attributes of another kernel node. Otherwise like copy_launch_attributes().
  abi::CUresult copy_attributes(const kernel_params& source_params);
};

using node_params =
    std::variant<empty_params, abi::CUDA_HOST_NODE_PARAMS, memset_params, copy_params, value_params,
                 child_params, record_params, wait_params, conditional_params, alloc_params,
                 free_params, kernel_params>;

// Returns the type of a node with these parameters.
[[nodiscard]] abi::CUgraphNodeType type_of(const node_params& params) noexcept;

// Returns true if the parameters are of one of these kinds.
template <class... Kinds>
[[nodiscard]] bool is_any_of(const node_params& params) noexcept {
  return (std::holds_alternative<Kinds>(params) || ...);
}

// The source and the data of a programmatic edge: on a GPU, the dependent kernel may start before
// the kernel `dependency` has ended.
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
  // The programmatic edges to this node. `dependencies` contains their sources as well.
  std::vector<programmatic_edge> programmatic_edges;
  abi::CUgraphNode cloned_from = nullptr;  // the handle of the original of a cloned node
  std::size_t number = 0;                  // in the order in which the graph's nodes were made
  // Scratch: its meaning depends on the function that set it last.
  std::size_t mark = 0;

  // Makes this node a child graph node that owns `child`. Destroys its previous child graph.
  void set_child_graph(graph& child) noexcept;

  // Returns the graphs that the node owns: a child graph, or bodies.
  [[nodiscard]] std::span<graph* const> subgraphs() const noexcept;

  [[nodiscard]] abi::CUgraphNodeType type() const noexcept { return type_of(params); }
  [[nodiscard]] abi::CUgraphNode handle() const noexcept;
};

// The distance, in nodes, of prefetching. The nodes of large graphs do not fit into the processor's
// cache. A loop over a list of nodes therefore prefetches the node that it reads this many
// iterations later.
inline constexpr std::size_t prefetch_distance = 8;
inline void prefetch_node(const graph_node* upcoming) noexcept {
  __builtin_prefetch(&upcoming->params);
  __builtin_prefetch(&upcoming->dependencies);  // the cache line that also holds the node's kind
}
inline void prefetch_node(const std::vector<graph_node*>& list, std::size_t index) noexcept {
  if (index + prefetch_distance < list.size()) prefetch_node(list[index + prefetch_distance]);
}

// Releases all that a node owns, and returns the object for reuse. Does not remove the node's edges
// from other nodes.
void destroy_node(graph_node& node) noexcept;

}  // namespace weir::embedded::model
