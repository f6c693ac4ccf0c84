// SPDX-License-Identifier: Apache-2.0
// api/graph/graph_parts.cpp - records which graphs are child graphs or bodies of other graphs.
#include "api/graph/graph_parts.hpp"

#include "api/graph/graph_metadata.hpp"

#include <utility>

namespace weir::detail {

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
  CUgraph root = graph;
  const graph_metadata* metadata = store->find(root);
  while (metadata != nullptr && metadata->parent != nullptr) {
    root = metadata->parent;
    metadata = store->find(root);
  }
  return root;
}

void mark_destroyed(CUgraph graph) noexcept {
  const CUgraph root = root_of(graph);
  if (!any_graph_metadata()) return;
  graph_metadata_map removed;
  const locked_metadata_store store;
  if (root == graph) {
    store->erase(graph, removed);
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

void set_conditional_type(CUgraph graph, CUgraphNode node, unsigned type) noexcept {
  const locked_graph_metadata metadata{graph};
  if (!metadata) return;
  const auto [first, last] = metadata->parts.equal_range(node);
  for (auto body = first; body != last; ++body)
    metadata.store().find(body->second)->conditional_type = type;
}

std::optional<conditional_metadata> find_conditional_metadata(CUgraph graph, CUgraphNode node) {
  const locked_graph_metadata metadata{graph};
  if (!metadata) return {};
  conditional_metadata found;
  const auto [first, last] = metadata->parts.equal_range(node);
  for (auto part = first; part != last; ++part) {
    const graph_metadata& part_metadata = *metadata.store().find(part->second);
    if (part_metadata.kind != part_kind::body) continue;
    found.type = part_metadata.conditional_type;
    found.bodies.push_back(part->second);
  }
  if (found.bodies.empty()) return {};
  return found;
}

}  // namespace weir::detail
