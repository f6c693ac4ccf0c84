// SPDX-License-Identifier: Apache-2.0
// api/graph/graph_parts.cpp - records which graphs are child graphs or bodies of other graphs.
#include "api/graph/graph_parts.hpp"

#include "api/graph/graph_metadata.hpp"
#include "api/memory/captured_memory.hpp"

#include <list>
#include <utility>

namespace weir::detail {

void add_part(CUgraph part, CUgraph parent_graph, CUgraphNode node, part_kind kind) {
  if (locked_metadata_store store; store->is_part(part, parent_graph, node)) return;
  part_reservation{1}.add_part(part, parent_graph, node, kind);
}

struct part_reservation::storage {
  graph_metadata_map entries;     // one per part; the keys are replaced by the handles
  std::list<CUgraph> part_slots;  // one per part, for graph_metadata::parts
  node_metadata_map metadata;     // one entry, for the node that contains the parts

  void insert(graph_metadata_store& store, CUgraph part, CUgraph parent_graph, CUgraphNode node,
              part_kind kind) noexcept;
};

void part_reservation::storage::insert(graph_metadata_store& store, CUgraph part,
                                       CUgraph parent_graph, CUgraphNode node,
                                       part_kind kind) noexcept {
  graph_metadata* const parent = store.find(parent_graph);
  if (parent == nullptr) return;
  graph_metadata* part_metadata = store.find(part);
  if (part_metadata == nullptr) {
    graph_metadata_map::node_type entry = entries.extract(entries.begin());
    entry.key() = part;
    part_metadata = &store.graphs.insert(std::move(entry)).position->second;
    part_metadata->id = ++store.last_id;
  }
  part_metadata->parent = parent_graph;
  part_metadata->node = node;
  part_metadata->kind = kind;
  part_slots.front() = part;
  parent->parts.splice(parent->parts.end(), part_slots, part_slots.begin());
  store.update_count();
}

part_reservation::part_reservation(std::size_t parts) : storage_{std::make_unique<storage>()} {
  storage_->part_slots.resize(parts);
  for (std::size_t i = 0; i < parts; ++i) storage_->entries[reinterpret_cast<CUgraph>(i)];
  storage_->metadata.try_emplace(nullptr).first->second.conditional.bodies.reserve(parts);
}

part_reservation::~part_reservation() = default;

void part_reservation::add_part(CUgraph part, CUgraph parent_graph, CUgraphNode node,
                                part_kind kind) noexcept {
  const locked_metadata_store store;
  if (store->is_part(part, parent_graph, node)) return;
  store->erase(part);
  storage_->insert(*store, part, parent_graph, node, kind);
}

void part_reservation::add_moved_part(CUgraph part, CUgraph parent_graph,
                                      CUgraphNode node) noexcept {
  const locked_metadata_store store;
  storage_->insert(*store, part, parent_graph, node, part_kind::child);
}

void part_reservation::set_conditional(CUgraph graph, CUgraphNode node, unsigned type,
                                       std::span<const CUgraph> bodies) noexcept {
  const locked_metadata_store store;
  graph_metadata* const found = store->find(graph);
  if (found == nullptr) return;
  node_metadata_map::node_type entry = storage_->metadata.extract(storage_->metadata.begin());
  entry.key() = node;
  entry.mapped().id = ++store->last_id;
  conditional_metadata& conditional = entry.mapped().conditional;
  conditional.type = type;
  conditional.bodies.assign(bodies.begin(), bodies.end());
  found->nodes.erase(node);
  found->nodes.insert(std::move(entry));
}

namespace {

// Returns true if condition(metadata) returns true for the graph or for a part that contains it.
// The root is not checked, because it is no part.
template <class Condition>
bool any_enclosing_part(CUgraph graph, const Condition& condition) noexcept {
  const locked_graph_metadata metadata{graph};
  if (!metadata) return false;
  for (const graph_metadata* part = &*metadata; part != nullptr && part->parent != nullptr;
       part = metadata.store().find(part->parent)) {
    if (condition(*part)) return true;
  }
  return false;
}

}  // namespace

bool is_part_of(CUgraph part, CUgraph ancestor) noexcept {
  return part == ancestor || any_enclosing_part(part, [=](const graph_metadata& enclosing) {
           return enclosing.parent == ancestor;
         });
}

bool is_part_of_node(CUgraph part, CUgraph ancestor, CUgraphNode node) noexcept {
  return any_enclosing_part(part, [=](const graph_metadata& enclosing) {
    return enclosing.parent == ancestor && enclosing.node == node;
  });
}

bool is_in_body(CUgraph graph) noexcept {
  return any_enclosing_part(
      graph, [](const graph_metadata& enclosing) { return enclosing.kind == part_kind::body; });
}

CUgraph root_of(CUgraph graph) noexcept {
  if (!any_graph_metadata()) return graph;
  const locked_metadata_store store;
  for (const graph_metadata* current = store->find(graph);
       current != nullptr && current->parent != nullptr; current = store->find(graph))
    graph = current->parent;
  return graph;
}

void mark_destroyed(CUgraph graph) noexcept {
  const CUgraph root = root_of(graph);
  // Only a root has captured memory, and it may have some without any metadata.
  if (root == graph) note_captured_graph_destroyed(graph);
  if (!any_graph_metadata()) return;
  const locked_metadata_store store;
  if (root == graph) {
    store->erase(graph);
    store->update_count();
    return;
  }
  // The destroyed graph stays registered as a part. Calls with its handle find the unusable root
  // and are refused, too.
  graph_metadata* const root_metadata = store->find(root);
  if (root_metadata != nullptr && !std::exchange(root_metadata->unusable, true))
    unusable_graph_count.fetch_add(1, std::memory_order_relaxed);
}

bool has_unusable_root(CUgraph graph) noexcept {
  const locked_graph_metadata root{root_of(graph)};
  return root && root->unusable;
}

std::optional<conditional_metadata> find_conditional_metadata(CUgraph graph, CUgraphNode node) {
  const locked_graph_metadata metadata{graph};
  const node_metadata* const entry = metadata.find_node(node);
  if (entry == nullptr || entry->conditional.bodies.empty()) return {};
  return entry->conditional;
}

std::vector<std::pair<CUgraphNode, CUgraph>> get_child_graphs(CUgraph graph) {
  std::vector<std::pair<CUgraphNode, CUgraph>> children;
  const locked_graph_metadata metadata{graph};
  if (!metadata) return children;
  for (const CUgraph part : metadata->parts) {
    const graph_metadata& part_metadata = *metadata.store().find(part);
    if (part_metadata.kind == part_kind::child) children.emplace_back(part_metadata.node, part);
  }
  return children;
}

}  // namespace weir::detail
