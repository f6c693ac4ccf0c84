// SPDX-License-Identifier: Apache-2.0
// model/graph/flat_graph.cpp - inlines child graphs, and finds the nodes that may block.
#include "embedded/model/graph/flat_graph.hpp"

#include <algorithm>

#include "embedded/model/graph/graph.hpp"
#include "embedded/model/graph/node_work.hpp"
#include "embedded/model/kernel/kernel_work.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

bool is_wait(const CUstreamBatchMemOpParams& operation) noexcept {
  return operation.operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
         operation.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
}

// Returns true if the node itself waits for a value or an event.
bool may_wait(const graph_node& node) {
  if (const auto* values = std::get_if<value_params>(&node.params))
    return std::ranges::any_of(values->operations, is_wait);
  return std::holds_alternative<wait_params>(node.params);
}

// Estimates the node's run time: memory moves at about 16 bytes per nanosecond. A conditional node
// counts as a constant, whatever its bodies contain.
std::uint64_t cost_of(const node_params& params) {
  constexpr std::uint64_t overhead = 4;
  if (const auto* set = std::get_if<memset_params>(&params)) {
    return overhead + set->desc.width * set->desc.height * set->desc.elementSize / 16;
  }
  if (const auto* copy = std::get_if<copy_params>(&params)) {
    return overhead + copy->desc.WidthInBytes * copy->desc.Height * copy->desc.Depth / 16;
  }
  if (const auto* kernel = std::get_if<kernel_params>(&params)) {
    const launch_shape& shape = kernel->desc->shape();
    const std::uint64_t blocks = std::uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z;
    // Estimates one nanosecond per thread.
    return overhead + blocks * (shape.block.x * shape.block.y * shape.block.z);
  }
  return std::holds_alternative<empty_params>(params) ? 0 : overhead;
}

}  // namespace

flat_graph::flat_graph(const std::vector<graph_node*>& order) {
  nodes_.reserve(order.size());
  append(order, none);
  outer_node_count_ = size();
  append_bodies();
  propagate_may_block();
}

// Adds a node and returns its index in the list. Null adds a node without work.
std::uint32_t flat_graph::add(const graph_node* node) {
  flat_node added{node, static_cast<std::uint32_t>(dependencies_.size())};
  if (node != nullptr) {
    added.host = std::holds_alternative<CUDA_HOST_NODE_PARAMS>(node->params);
    added.waits = may_wait(*node);
    added.may_block = added.host || added.waits;
    added.cost = cost_of(node->params);
  }
  nodes_.push_back(added);
  return static_cast<std::uint32_t>(nodes_.size() - 1);
}

void flat_graph::depend_on(std::uint32_t dependency) {
  dependencies_.push_back(dependency);
  ++nodes_.back().dependencies;
}

// Appends the nodes of one graph, and the nodes of its child graphs in place of the child graph
// nodes. Nodes without dependencies depend on `predecessor`, unless that is `none`.
void flat_graph::append(const std::vector<graph_node*>& order, std::uint32_t predecessor) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    prefetch_node(order, i);
    graph_node* const node = order[i];
    const auto* child = std::get_if<child_params>(&node->params);
    const std::uint32_t begin = add(child == nullptr ? node : nullptr);
    if (predecessor != none && node->dependencies.empty()) depend_on(predecessor);
    for (const graph_node* dependency : node->dependencies)
      depend_on(static_cast<std::uint32_t>(dependency->mark));
    node->mark = begin;
    if (std::holds_alternative<conditional_params>(node->params)) conditionals_.push_back(begin);
    if (child == nullptr) continue;
    const std::vector<graph_node*> subgraph = child->subgraph->topological_order();
    append(subgraph, begin);
    node->mark = add(nullptr);
    depend_on(begin);
    for (const graph_node* last : subgraph) {
      if (last->dependents.empty()) depend_on(static_cast<std::uint32_t>(last->mark));
    }
  }
}

// Appends the bodies of all conditional nodes. A body may itself contain conditional nodes, so
// conditionals_ grows during the loop.
void flat_graph::append_bodies() {
  for (std::size_t next = 0; next < conditionals_.size();
       ++next) {  // NOLINT(modernize-loop-convert): it grows
    const std::uint32_t conditional = conditionals_[next];
    std::uint32_t index = 0;
    for (const graph* subgraph :
         std::get<conditional_params>(nodes_[conditional].node->params).bodies) {
      const std::uint32_t first = size();
      append(subgraph->topological_order(), none);
      bodies_.push_back({conditional, index++, first, size() - first});
    }
  }
}

// Sets may_block and waits of each node that depends on a node with that flag.
void flat_graph::propagate_may_block() noexcept {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    flat_node& node = nodes_[i];
    for (const std::uint32_t dependency : dependencies_of(i)) {
      node.may_block = node.may_block || nodes_[dependency].may_block;
      node.waits = node.waits || nodes_[dependency].waits;
    }
  }
}

}  // namespace weir::embedded::model
