// SPDX-License-Identifier: Apache-2.0
// model/graph/graph.cpp - nodes, edges and clones of graphs.
#include "embedded/model/graph/graph.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "embedded/model/core/process.hpp"
#include "embedded/model/graph/conditional.hpp"

namespace weir::embedded::model {

using namespace abi;

CUgraph graph::handle() const noexcept {
  return static_cast<CUgraph>(this_process().graphs.handle_of(this));
}

graph& graph::make() {
  graph* created = this_process().graphs.acquire();
  created->number_ = ++this_process().graphs_made;
  created->nodes_made_ = 0;
  created->node_destroyed_ = false;
  created->capturing_ = false;
  created->captures_inside_ = 0;
  created->has_memory_nodes_ = false;
  created->executable_.reset();
  this_process().graphs.publish(created);
  return *created;
}

void graph::become_subgraph_of(graph& parent, subgraph_kind kind) noexcept {
  parent_ = &parent;
  kind_ = kind;
  previous_subgraph_ = nullptr;
  next_subgraph_ = std::exchange(parent.first_subgraph_, this);
  if (next_subgraph_ != nullptr) next_subgraph_->previous_subgraph_ = this;
}

void graph::leave_parent() noexcept {
  if (parent_ == nullptr) return;
  for (graph* enclosing = parent_; enclosing != nullptr; enclosing = enclosing->parent_)
    enclosing->captures_inside_ -= captures_inside_;
  (previous_subgraph_ == nullptr ? parent_->first_subgraph_ : previous_subgraph_->next_subgraph_) =
      next_subgraph_;
  if (next_subgraph_ != nullptr) next_subgraph_->previous_subgraph_ = previous_subgraph_;
  parent_ = next_subgraph_ = previous_subgraph_ = nullptr;
  kind_ = subgraph_kind::child;
}

void graph::on_node_destroyed() noexcept {
  if (!has_capture_inside()) return destroy();
  leave_parent();
  node_destroyed_ = true;
}

graph* graph::orphaned_root() noexcept {
  graph& outermost = const_cast<graph&>(root());
  return outermost.node_destroyed_ ? &outermost : nullptr;
}

bool graph::is_noncopyable() const noexcept {
  return has_memory_nodes_ || !conditions.empty() ||
         search_subgraphs([](const graph& subgraph) { return subgraph.is_noncopyable(); });
}

void graph::begin_capture() noexcept {
  capturing_ = true;
  for (graph* enclosing = this; enclosing != nullptr; enclosing = enclosing->parent_)
    ++enclosing->captures_inside_;
}

void graph::end_capture() noexcept {
  capturing_ = false;
  for (graph* enclosing = this; enclosing != nullptr; enclosing = enclosing->parent_)
    --enclosing->captures_inside_;
}

void graph::share_retained_objects(user_object_references& receiver) const {
  receiver.share(retained_objects);
  for (const graph* subgraph = first_subgraph_; subgraph != nullptr;
       subgraph = subgraph->next_subgraph_)
    subgraph->share_retained_objects(receiver);
}

const graph& graph::root() const noexcept {
  const graph* outermost = this;
  while (outermost->parent_ != nullptr) outermost = outermost->parent_;
  return *outermost;
}

bool graph::is_within(const graph& outer_graph) const noexcept {
  for (const graph* enclosing = this; enclosing != nullptr; enclosing = enclosing->parent_) {
    if (enclosing == &outer_graph) return true;
  }
  return false;
}

void graph::set_has_memory_nodes() noexcept {
  for (graph* enclosing = this; enclosing != nullptr; enclosing = enclosing->parent_)
    enclosing->has_memory_nodes_ = true;
}

std::shared_ptr<void> graph::claim_executable(const std::shared_ptr<void>& own_claim) const {
  if (const auto current_claim = executable_.lock())
    return current_claim == own_claim ? current_claim : nullptr;
  std::shared_ptr<void> claimed = std::make_shared<char>();
  executable_ = claimed;
  return claimed;
}

void graph::clear() noexcept {
  for (graph_node* node : nodes_) destroy_node(*node);
  nodes_.clear();
  counterparts_.clear();
  retained_objects.drop();
}

void graph::destroy() noexcept {
  clear();
  leave_parent();
  destroy_conditions(*this);
  this_process().graphs.retire(this, handle());
  this_process().graphs.recycle(this);
}

graph_node& graph::add(node_params params, std::span<graph_node* const> dependencies) {
  nodes_.make_room();
  for (graph_node* dependency : dependencies) dependency->dependents.make_room();
  graph_node* added = this_process().graph_nodes.acquire();
  try {
    added->dependencies.assign(dependencies);
  } catch (...) {
    this_process().graph_nodes.recycle(added);
    throw;
  }
  added->owner = this;
  added->number = nodes_made_++;
  added->params = std::move(params);
  added->cloned_from = nullptr;
  for (graph_node* dependency : dependencies) dependency->dependents.push_back(added);
  nodes_.push_back(added);
  this_process().graph_nodes.publish(added);
  return *added;
}

bool graph::is_ordinary(const CUgraphEdgeData& data) noexcept {
  return std::bit_cast<std::uint64_t>(data) == 0;
}

namespace {

void erase_edge_data(const graph_node& dependency, graph_node& dependent) noexcept {
  std::erase_if(dependent.programmatic_edges,
                [&](const programmatic_edge& edge) { return edge.dependency == &dependency; });
}

}  // namespace

void graph::remove(graph_node& node) noexcept {
  for (graph_node* dependency : node.dependencies) dependency->dependents.erase(&node);
  for (graph_node* dependent : node.dependents) {
    dependent->dependencies.erase(&node);
    if (!dependent->programmatic_edges.empty()) erase_edge_data(node, *dependent);
  }
  nodes_.erase(&node);
  destroy_node(node);
}

void graph::connect(graph_node& dependency, graph_node& dependent, const CUgraphEdgeData& data) {
  dependency.dependents.make_room();
  dependent.dependencies.make_room();
  set_edge_data(dependency, dependent, data);
  dependent.dependencies.push_back(&dependency);
  dependency.dependents.push_back(&dependent);
}

void graph::disconnect(graph_node& dependency, graph_node& dependent) noexcept {
  dependency.dependents.erase(&dependent);
  dependent.dependencies.erase(&dependency);
  erase_edge_data(dependency, dependent);
}

bool graph::allows_edge(const graph_node& dependency, const graph_node& dependent,
                        const CUgraphEdgeData& data) {
  if (is_ordinary(data)) return true;
  // As on an H200, an ordinary edge from a kernel may name the port for the order of launches.
  const bool names_port = data.type == 0 && data.to_port == 0 &&
                          data.from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER &&
                          std::ranges::all_of(data.reserved, std::logical_not{});
  if (names_port) return std::holds_alternative<kernel_params>(dependency.params);
  const bool programmatic = data.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC &&
                            data.to_port == 0 &&
                            (data.from_port == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC ||
                             data.from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER) &&
                            std::ranges::all_of(data.reserved, std::logical_not{});
  return programmatic && std::holds_alternative<kernel_params>(dependency.params) &&
         std::holds_alternative<kernel_params>(dependent.params);
}

CUgraphEdgeData graph::edge_data_of(const graph_node& dependency,
                                    const graph_node& dependent) noexcept {
  const auto found =
      std::ranges::find(dependent.programmatic_edges, &dependency, &programmatic_edge::dependency);
  return found == dependent.programmatic_edges.end() ? CUgraphEdgeData{} : found->data;
}

void graph::set_edge_data(const graph_node& dependency, graph_node& dependent,
                          const CUgraphEdgeData& data) {
  if (!is_ordinary(data)) dependent.programmatic_edges.push_back({&dependency, data});
}

bool graph::connected(const graph_node& dependency, const graph_node& dependent) noexcept {
  // Searches the shorter of the two lists, because a node with many dependents usually has few
  // dependencies, and vice versa.
  if (dependency.dependents.size() < dependent.dependencies.size())
    return std::ranges::find(dependency.dependents, &dependent) != dependency.dependents.end();
  return std::ranges::find(dependent.dependencies, &dependency) != dependent.dependencies.end();
}

std::vector<graph_node*> graph::topological_order() const {
  // During this function, graph_node::mark of a node is the number of its dependencies that the
  // second loop has not visited yet. Nodes on or after a cycle keep a mark other than 0.
  std::vector<graph_node*> order;
  order.reserve(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    prefetch_node(nodes(), i);
    graph_node* const node = nodes_[i];
    node->mark = node->dependencies.size();
    if (node->mark == 0) order.push_back(node);
  }
  for (std::size_t next = 0; next < order.size(); ++next) {
    for (graph_node* dependent : order[next]->dependents) {
      if (--dependent->mark == 0) order.push_back(dependent);
    }
  }
  return order;
}

graph_node* graph::find_cycle(const std::vector<graph_node*>& order) const {
  if (order.size() != nodes_.size())
    return *std::ranges::find_if(nodes_, [](const graph_node* node) { return node->mark != 0; });
  return search_subgraphs(
      [](const graph& subgraph) { return subgraph.find_cycle(subgraph.topological_order()); });
}

graph& graph::clone() const {
  graph& copy = make();
  try {
    copy.nodes_.reserve(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      graph_node& original = *nodes_[i];
      original.mark = i;
      graph_node& created = copy.add(empty_params{}, {});
      created.number = original.number;
      created.cloned_from = original.handle();
      if (const auto* child = std::get_if<child_params>(&original.params)) {
        created.set_child_graph(child->subgraph->clone());
      } else {
        created.params = original.params;
      }
    }
    const auto copy_links = [&](const auto& list, auto& out) {
      out.reserve(list.size());
      for (const graph_node* node : list) out.push_back(copy.nodes_[node->mark]);
    };
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      copy_links(nodes_[i]->dependencies, copy.nodes_[i]->dependencies);
      copy_links(nodes_[i]->dependents, copy.nodes_[i]->dependents);
      for (const programmatic_edge& edge : nodes_[i]->programmatic_edges)
        copy.nodes_[i]->programmatic_edges.push_back(
            {copy.nodes_[edge.dependency->mark], edge.data});
    }
    copy.nodes_made_ = nodes_made_;
    copy.retained_objects.share(retained_objects);
  } catch (...) {
    copy.destroy();
    throw;
  }
  return copy;
}

graph_node* graph::counterpart(const graph_node& original) {
  if (counterparts_.empty()) {
    std::unordered_map<CUgraphNode, CUgraphNode> copies;
    for (const graph_node* node : nodes_) {
      if (node->cloned_from != nullptr) copies.emplace(node->cloned_from, node->handle());
    }
    counterparts_ = std::move(copies);
  }
  const auto found = counterparts_.find(original.handle());
  if (found == counterparts_.end()) return nullptr;
  graph_node* const copy = this_process().graph_nodes.find(found->second);
  // The handle of a destroyed original or copy may have been given to another node.
  const bool is_copy = copy != nullptr && copy->owner == this && copy->number == original.number;
  return is_copy ? copy : nullptr;
}

}  // namespace weir::embedded::model
