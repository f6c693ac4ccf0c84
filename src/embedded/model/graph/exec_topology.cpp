// SPDX-License-Identifier: Apache-2.0
// model/graph/exec_topology.cpp - compares an executable with a graph.
#include "embedded/model/graph/exec_topology.hpp"

#include "embedded/model/graph/graph.hpp"

namespace weir::embedded::model {

using namespace abi;

exec_topology::exec_topology(const graph& source_graph, const std::vector<plan_location>& locations)
    : is_body_{source_graph.is_body()} {
  nodes_.reserve(source_graph.nodes().size());
  std::size_t edges = 0;
  const std::vector<graph_node*>& nodes = source_graph.nodes();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    prefetch_node(nodes, i);
    graph_node* const node = nodes[i];
    exec_node created;
    created.origin = node->handle();
    created.location = locations[node->mark];
    node->mark = i;  // the location was read; from here on, the mark is the node's index in nodes_
    edges += node->dependencies.size();
    created.type = node->type();
    created.operands = operands_of(node->params);
    created.first_child = static_cast<std::uint32_t>(children_.size());
    created.child_count = static_cast<std::uint32_t>(node->subgraphs().size());
    for (const graph* subgraph : node->subgraphs()) children_.emplace_back(*subgraph, locations);
    nodes_.push_back(created);
  }
  dependencies_.reserve(edges);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    prefetch_node(nodes, i);
    const graph_node& node = *nodes[i];
    nodes_[i].first_dependency = static_cast<std::uint32_t>(dependencies_.size());
    nodes_[i].dependency_count = static_cast<std::uint32_t>(node.dependencies.size());
    for (const graph_node* dependency : node.dependencies)
      dependencies_.push_back(static_cast<std::uint32_t>(dependency->mark));
    if (node.dependents.empty()) last_nodes_.push_back(i);
  }
}

const exec_node* exec_topology::find(CUgraphNode origin) {
  if (by_origin_.empty()) {
    by_origin_.reserve(nodes_.size());
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) by_origin_.emplace(nodes_[i].origin, i);
  }
  const auto found = by_origin_.find(origin);
  return found == by_origin_.end() ? nullptr : &nodes_[found->second];
}

const exec_node* exec_topology::find_with_bodies(CUgraphNode origin) {
  if (const exec_node* found = find(origin)) return found;
  for (exec_topology& child : children_) {
    const exec_node* const found = child.is_body_ ? child.find_with_bodies(origin) : nullptr;
    if (found != nullptr) return found;
  }
  return nullptr;
}

// Like match(), but compares only the edges, not the node types, and leaves out the children.
// Appends the pairs to `out`.
exec_topology::difference exec_topology::match_nodes(const graph& replacement_graph,
                                                     pairs& out) const {
  constexpr CUgraphExecUpdateResult topology = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  if (replacement_graph.nodes().size() != nodes_.size()) return {topology, nullptr};
  std::vector<graph_node*> last;
  for (graph_node* node : replacement_graph.nodes()) {
    node->mark = nodes_.size();  // not paired yet
    if (node->dependents.empty()) last.push_back(node);
  }
  if (last.size() != last_nodes_.size())
    return {topology, last.size() > last_nodes_.size() ? last.front()->handle() : nullptr};

  // Paired nodes whose dependencies are not paired yet.
  std::vector<std::pair<std::uint32_t, graph_node*>> open;
  std::vector<bool> paired(nodes_.size());
  difference found;
  const auto pair = [&](std::uint32_t number, graph_node* node) {
    if (node->mark == number) return true;  // these two are a pair already
    if (node->mark != nodes_.size() || paired[number] ||
        node->dependencies.size() != nodes_[number].dependency_count) {
      found = {topology, node->handle()};
      return false;
    }
    node->mark = number;
    paired[number] = true;
    open.emplace_back(number, node);
    out.emplace_back(&nodes_[number], node);
    return true;
  };
  for (std::size_t i = 0; i < last.size(); ++i) {
    if (!pair(last_nodes_[i], last[i])) return found;
  }
  while (!open.empty()) {
    const auto [number, node] = open.back();
    open.pop_back();
    for (std::size_t i = 0; i < node->dependencies.size(); ++i) {
      if (!pair(dependencies_[nodes_[number].first_dependency + i], node->dependencies[i]))
        return found;
    }
  }
  // Nodes on a cycle of the replacement graph are missing: no node without dependents leads to
  // them.
  if (out.size() != nodes_.size()) return {topology, nullptr};
  return {};
}

bool exec_topology::is_same_node(const graph& replacement_graph,
                                 std::size_t number) const noexcept {
  const exec_node& current = nodes_[number];
  const graph_node& replacement = *replacement_graph.nodes()[number];
  if (current.type != replacement.type() ||
      current.dependency_count != replacement.dependencies.size())
    return false;
  for (std::uint32_t i = 0; i < current.dependency_count; ++i) {
    if (replacement_graph.nodes()[dependencies_[current.first_dependency + i]] !=
        replacement.dependencies[i])
      return false;
  }
  return true;
}

exec_topology::difference exec_topology::match(const graph& replacement_graph, pairs& out) const {
  pairs own_pairs;
  if (const difference found = match_nodes(replacement_graph, own_pairs)) return found;
  for (const auto& [current, replacement] : own_pairs) {
    if (current->type != replacement->type())
      return {CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, replacement->handle()};
  }
  for (const auto& [current, replacement] : own_pairs) {
    if (!std::holds_alternative<child_params>(replacement->params))
      out.emplace_back(current, replacement);
    const std::span<graph* const> subgraphs = replacement->subgraphs();
    if (current->child_count != subgraphs.size())
      return {CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, replacement->handle()};
    for (std::size_t i = 0; i < subgraphs.size(); ++i) {
      if (const difference found = children_[current->first_child + i].match(*subgraphs[i], out))
        return found;
    }
  }
  return {};
}

}  // namespace weir::embedded::model
