// SPDX-License-Identifier: Apache-2.0
// model/graph/exec_topology.cpp - compares an executable with a graph.
#include "embedded/model/graph/exec_topology.hpp"

#include "embedded/model/graph/graph.hpp"

namespace weir::embedded::model {

using namespace abi;

exec_topology::exec_topology(const graph& source_graph,
                             const std::vector<plan_location>& locations) {
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
    created.kind = static_cast<std::uint8_t>(node->params.index());
    created.operands = operands_of(node->params);
    if (const auto* child = std::get_if<child_params>(&node->params)) {
      created.child = static_cast<std::uint32_t>(children_.size());
      children_.emplace_back(*child->subgraph, locations);
    } else if (const auto* conditional = std::get_if<conditional_params>(&node->params)) {
      created.child = static_cast<std::uint32_t>(children_.size());
      exec_topology bodies;
      for (const graph* body : conditional->bodies) bodies.children_.emplace_back(*body, locations);
      children_.push_back(std::move(bodies));
    }
    nodes_.push_back(created);
  }
  dependencies_.reserve(edges);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    prefetch_node(nodes, i);
    const graph_node& node = *nodes[i];
    nodes_[i].first_dependency = static_cast<std::uint32_t>(dependencies_.size());
    nodes_[i].dependencies = static_cast<std::uint32_t>(node.dependencies.size());
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
  for (exec_topology& part : children_) {
    // the topology of a child graph; only those of conditional nodes have no nodes
    if (!part.nodes_.empty()) continue;
    for (exec_topology& body : part.children_) {
      if (const exec_node* found = body.find_with_bodies(origin)) return found;
    }
  }
  return nullptr;
}

// Pairs the nodes of this topology, without those of children. Starts at the nodes without
// dependents and follows dependencies.
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
    return {topology, last.empty() ? nullptr : last.front()->handle()};

  // Paired nodes whose dependencies are not paired yet.
  std::vector<std::pair<std::uint32_t, graph_node*>> open;
  std::vector<bool> paired(nodes_.size());
  difference found;
  const auto pair = [&](std::uint32_t number, graph_node* node) {
    if (node->mark == number) return true;
    if (node->mark != nodes_.size() || paired[number] ||
        node->dependencies.size() != nodes_[number].dependencies) {
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
  if (current.kind != replacement.params.index() ||
      current.dependencies != replacement.dependencies.size())
    return false;
  for (std::uint32_t i = 0; i < current.dependencies; ++i) {
    if (replacement_graph.nodes()[dependencies_[current.first_dependency + i]] !=
        replacement.dependencies[i])
      return false;
  }
  return true;
}

exec_topology::difference exec_topology::match(const graph& replacement_graph, pairs& out) const {
  pairs own_pairs;
  if (const difference found = match_nodes(replacement_graph, own_pairs);
      found.result != CU_GRAPH_EXEC_UPDATE_SUCCESS)
    return found;
  for (const auto& [current, replacement] : own_pairs) {
    if (current->kind != replacement->params.index())
      return {CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, replacement->handle()};
  }
  for (const auto& [current, replacement] : own_pairs) {
    if (!std::holds_alternative<child_params>(replacement->params))
      out.emplace_back(current, replacement);
    if (replacement->subgraphs().empty()) continue;
    if (const difference found = match_children(*current, *replacement, out);
        found.result != CU_GRAPH_EXEC_UPDATE_SUCCESS)
      return found;
  }
  return {};
}

// Pairs the nodes of a child graph or of the bodies of a conditional node.
exec_topology::difference exec_topology::match_children(const exec_node& current,
                                                        const graph_node& replacement,
                                                        pairs& out) const {
  const exec_topology& subgraph = child_of(current);
  if (const auto* child = std::get_if<child_params>(&replacement.params))
    return subgraph.match(*child->subgraph, out);
  if (subgraph.children_.size() != replacement.subgraphs().size())
    return {CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, replacement.handle()};
  for (std::size_t i = 0; i < subgraph.children_.size(); ++i) {
    const difference found = subgraph.children_[i].match(*replacement.subgraphs()[i], out);
    if (found.result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return found;
  }
  return {};
}

}  // namespace weir::embedded::model
