// model/graph_node.cpp - what a node is, and how it ends.
#include "embedded/model/graph/graph_node.hpp"

#include <iterator>
#include <variant>

#include "embedded/model/graph/conditional.hpp"
#include "embedded/model/graph/graph.hpp"
#include "embedded/model/graph/memory/graph_block.hpp"
#include "embedded/model/kernel/kernel_work.hpp"
#include "embedded/model/graph/node_shape.hpp"
#include "embedded/model/core/process.hpp"

namespace weir::embedded::model {

using namespace abi;

CUgraphNodeType graph_node::type() const noexcept {
  constexpr CUgraphNodeType types[] = {
      CU_GRAPH_NODE_TYPE_EMPTY,        CU_GRAPH_NODE_TYPE_HOST,         CU_GRAPH_NODE_TYPE_MEMSET,
      CU_GRAPH_NODE_TYPE_MEMCPY,       CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, CU_GRAPH_NODE_TYPE_GRAPH,
      CU_GRAPH_NODE_TYPE_EVENT_RECORD, CU_GRAPH_NODE_TYPE_WAIT_EVENT,   CU_GRAPH_NODE_TYPE_CONDITIONAL,
      CU_GRAPH_NODE_TYPE_MEM_ALLOC,    CU_GRAPH_NODE_TYPE_MEM_FREE,     CU_GRAPH_NODE_TYPE_KERNEL};
  static_assert(std::size(types) == std::variant_size_v<node_params>);
  return types[params.index()];
}

void kernel_params::take_attributes(const kernel_params& of) {
  what = what->with(shape_with_attributes(*what, *of.what), of.what->priority());
  told = of.told;
}

CUgraphNode graph_node::handle() const noexcept {
  return static_cast<CUgraphNode>(this_process().graph_nodes.handle_of(this));
}

void graph_node::embed(graph& child) noexcept {
  child.become_part_of(*in, false);
  if (child.has_memory_nodes()) in->note_memory_nodes();
  const auto* const had = std::get_if<child_params>(&params);
  graph* const old = had == nullptr ? nullptr : had->embedded;
  params = child_params{&child};
  if (old != nullptr) old->destroy();
}

std::span<graph* const> graph_node::inside() const noexcept {
  if (const auto* child = std::get_if<child_params>(&params)) return {&child->embedded, 1};
  if (const auto* conditional = std::get_if<conditional_params>(&params)) return conditional->bodies;
  return {};
}

void end_node(graph_node& node) noexcept {
  if (const auto* conditional = std::get_if<conditional_params>(&node.params)) release_condition(*conditional);
  for (graph* inside : node.inside()) inside->end_with_node();
  if (const auto* freed = std::get_if<free_params>(&node.params)) std::erase(freed->block->freed_in, node.in->handle());
  node.params = empty_params{};
  node.dependencies.clear();
  node.early.clear();
  node.dependents.clear();
  this_process().graph_nodes.retire(&node, node.handle());
  this_process().graph_nodes.recycle(&node);
}

}  // namespace weir::embedded::model
