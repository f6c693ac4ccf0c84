// SPDX-License-Identifier: Apache-2.0
// model/graph/graph_node.cpp - node parameters, and the destruction of nodes.
#include "embedded/model/graph/graph_node.hpp"

#include <iterator>
#include <variant>

#include "embedded/model/core/process.hpp"
#include "embedded/model/graph/conditional.hpp"
#include "embedded/model/graph/graph.hpp"
#include "embedded/model/graph/memory/graph_block.hpp"
#include "embedded/model/kernel/kernel_work.hpp"

namespace weir::embedded::model {

using namespace abi;

CUgraphNodeType type_of(const node_params& params) noexcept {
  constexpr CUgraphNodeType types[] = {
      CU_GRAPH_NODE_TYPE_EMPTY,        CU_GRAPH_NODE_TYPE_HOST,
      CU_GRAPH_NODE_TYPE_MEMSET,       CU_GRAPH_NODE_TYPE_MEMCPY,
      CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, CU_GRAPH_NODE_TYPE_GRAPH,
      CU_GRAPH_NODE_TYPE_EVENT_RECORD, CU_GRAPH_NODE_TYPE_WAIT_EVENT,
      CU_GRAPH_NODE_TYPE_CONDITIONAL,  CU_GRAPH_NODE_TYPE_MEM_ALLOC,
      CU_GRAPH_NODE_TYPE_MEM_FREE,     CU_GRAPH_NODE_TYPE_KERNEL};
  static_assert(std::size(types) == std::variant_size_v<node_params>);
  return types[params.index()];
}

CUresult kernel_params::copy_launch_attributes(const kernel_work& source_work) {
  const launch_shape shape = shape_with_attributes(*desc, source_work);
  if (const CUresult error = check_kernel_node_shape(*desc, shape)) return error;
  desc = desc->with(shape, source_work.priority());
  return CUDA_SUCCESS;
}

CUresult kernel_params::copy_attributes(const kernel_params& source_params) {
  if (const CUresult error = copy_launch_attributes(*source_params.desc)) return error;
  inert_attributes = source_params.inert_attributes;
  return CUDA_SUCCESS;
}

CUgraphNode graph_node::handle() const noexcept {
  return static_cast<CUgraphNode>(this_process().graph_nodes.handle_of(this));
}

void graph_node::set_child_graph(graph& child) noexcept {
  child.become_subgraph_of(*owner, subgraph_kind::child);
  if (child.has_memory_nodes()) owner->set_has_memory_nodes();
  const auto* const old_child = std::get_if<child_params>(&params);
  graph* const replaced = old_child == nullptr ? nullptr : old_child->subgraph;
  params = child_params{&child};
  if (replaced != nullptr) replaced->destroy();
}

std::span<graph* const> graph_node::subgraphs() const noexcept {
  if (const auto* child = std::get_if<child_params>(&params)) return {&child->subgraph, 1};
  if (const auto* conditional = std::get_if<conditional_params>(&params))
    return conditional->bodies;
  return {};
}

void destroy_node(graph_node& node) noexcept {
  if (const auto* conditional = std::get_if<conditional_params>(&node.params))
    release_condition(*conditional);
  for (graph* subgraph : node.subgraphs()) subgraph->on_node_destroyed();
  if (const auto* freed = std::get_if<free_params>(&node.params))
    std::erase(freed->block->freed_in, node.owner->number());
  node.params = empty_params{};
  node.dependencies.clear();
  node.programmatic_edges.clear();
  node.dependents.clear();
  this_process().graph_nodes.retire(&node, node.handle());
  this_process().graph_nodes.recycle(&node);
}

}  // namespace weir::embedded::model
