// SPDX-License-Identifier: Apache-2.0
// api/graph/node_metadata.cpp - what weir stores about nodes: tags, call sites, and parameter
// owners.
#include "api/graph/node_metadata.hpp"

#include "api/graph/graph_metadata.hpp"

#include <weir/graph/graph.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace weir::detail {

void set_tag(CUgraph graph, CUgraphNode node, std::string_view tag) {
  const locked_graph_metadata metadata{graph};
  if (!metadata) return;
  if (!tag.empty()) {
    metadata.store().metadata_of(*metadata, node).tag = tag;
  } else if (node_metadata* const tagged = metadata.find_node(node)) {
    tagged->tag.clear();
  }
}

std::string get_tag(CUgraph graph, CUgraphNode node) {
  const locked_graph_metadata metadata{graph};
  const node_metadata* const tagged = metadata.find_node(node);
  return tagged == nullptr ? std::string{} : tagged->tag;
}

std::vector<CUgraphNode> find_tagged(CUgraph graph, std::string_view tag) {
  std::vector<CUgraphNode> found;
  const locked_graph_metadata metadata{graph};
  if (!metadata || tag.empty()) return found;
  for (const auto& [node, entry] : metadata->nodes) {
    if (entry.tag == tag) found.push_back(node);
  }
  return found;
}

tag_list get_tags(CUgraph graph) {
  tag_list list;
  const locked_graph_metadata metadata{graph};
  if (!metadata) return list;
  list.graph = graph;
  list.metadata_id = metadata->id;
  list.last_id = metadata.store().last_id;
  for (const auto& [node, entry] : metadata->nodes) {
    if (!entry.tag.empty()) list.tags.emplace_back(entry.tag, node);
  }
  return list;
}

bool is_present(const tag_list& list, CUgraphNode node) noexcept {
  const locked_graph_metadata metadata{list.graph};
  if (!metadata || metadata->id != list.metadata_id) return false;
  const node_metadata* const tagged = metadata.find_node(node);
  return tagged != nullptr && tagged->id <= list.last_id;
}

bool is_known_node(CUgraph graph, CUgraphNode node) {
  const locked_graph_metadata metadata{graph};
  if (!metadata || metadata->id == 0) return false;
  for (; metadata->known_sites < metadata->sites.size(); ++metadata->known_sites)
    metadata->known_nodes.insert(metadata->sites[metadata->known_sites].node);
  return metadata->known_nodes.contains(node) || metadata->nodes.contains(node);
}

void note_nodes(CUgraph graph, std::span<const CUgraphNode> nodes) {
  if (const locked_graph_metadata metadata{graph}; metadata && metadata->id != 0)
    metadata->known_nodes.insert(nodes.begin(), nodes.end());
}

CUgraph find_graph_of(CUgraphNode node) {
  if (!any_graph_metadata()) return nullptr;
  const locked_metadata_store store;
  const auto has_node = [&](const auto& each) { return each.second.has_node(node); };
  const auto found = std::ranges::find_if(store->graphs, has_node);
  return found == store->graphs.end() ? nullptr : found->first;
}

void get_owners(graph_node node, std::span<keep_alive_ref> shares) noexcept {
  // The graph keeps the owners alive while the metadata list them. The lock prevents that they are
  // removed from the list meanwhile.
  const locked_graph_metadata metadata{node.graph().get()};
  const node_metadata* const entry = metadata.find_node(node.get());
  if (entry == nullptr) return;
  for (std::size_t i = 0; i < std::min(shares.size(), entry->owners.size()); ++i) {
    keep_alive& owner = *entry->owners[i].owner;
    __atomic_fetch_add(&owner.shares, 1, __ATOMIC_RELAXED);
    shares[i] = keep_alive_ref{owner};
  }
}

namespace {

// Makes room for one more call site. Returns false if the graph needs ensure_metadata() first.
bool try_reserve_call_site(CUgraph graph, const char* path, const char*& file) {
  const locked_graph_metadata metadata{graph};
  if (!metadata || metadata->id == 0) return false;
  std::vector<node_call_site>& sites = metadata->sites;
  if (sites.size() == sites.capacity()) sites.reserve(2 * sites.size() + 4);
  file = metadata.store().intern_file_name(path);
  return true;
}

}  // namespace

node_call_site reserve_call_site(CUgraph graph, call_site at) {
  node_call_site reserved{nullptr, "", at.line()};
  if (os::in_forked_child() || try_reserve_call_site(graph, at.file_name(), reserved.file))
    return reserved;
  ensure_metadata(graph, at);
  static_cast<void>(try_reserve_call_site(graph, at.file_name(), reserved.file));
  return reserved;
}

std::vector<kept_owner> add_call_site(CUgraph graph, const node_call_site& added) noexcept {
  graph_metadata_map removed;
  const locked_graph_metadata metadata{graph};
  if (!metadata) return {};
  // There is no room only if another thread has added a node to this graph meanwhile.
  if (metadata->sites.size() < metadata->sites.capacity()) metadata->sites.push_back(added);
  return metadata.store().erase_node(*metadata, added.node, removed);
}

std::vector<kept_owner> erase_node_metadata(CUgraph graph, CUgraphNode node) noexcept {
  graph_metadata_map removed;
  const locked_graph_metadata metadata{graph};
  if (!metadata) return {};
  std::erase_if(metadata->sites, [=](const node_call_site& site) { return site.node == node; });
  metadata->known_nodes.erase(node);
  metadata->known_sites = 0;  // the entries have moved
  return metadata.store().erase_node(*metadata, node, removed);
}

// Delegates to another constructor. Therefore, if a step throws, the destructor runs and releases
// the owners kept so far.
node_owners::node_owners(CUgraph graph, owner_list owners, call_site at) : node_owners{graph} {
  const std::span all{owners.first, owners.size};
  const auto is_present = [](const keep_alive_ref& owner) { return static_cast<bool>(owner); };
  if (std::ranges::none_of(all, is_present)) return;
  if (graph == nullptr) {
    throw_error(errc::invalid_value, "cuGraphRetainUserObject", "a node of an unknown graph",
                "the graph that keeps the parameters' owners alive is unknown; name it with "
                "graph_node{handle, graph}",
                at);
  }
  ensure_metadata(graph, at);
  owners_.reserve(owners.size);  // so that push_back() cannot throw
  for (const keep_alive_ref& owner : all) {
    if (owner) owners_.push_back(move_to_graph(graph, owner, at));
  }
}

void node_owners::assign_to(CUgraphNode node) noexcept {
  std::vector<kept_owner> previous_owners;
  try {
    const locked_graph_metadata metadata{graph_};
    if (metadata && (!owners_.empty() || metadata.find_node(node) != nullptr)) {
      previous_owners = std::exchange(metadata.store().metadata_of(*metadata, node).owners,
                                      std::exchange(owners_, {}));
    }
  } catch (...) {
    // Memory is exhausted. The graph keeps the old and the new owners until it is destroyed.
  }
  owners_.clear();
  release_owners(graph_, previous_owners);
}

}  // namespace weir::detail
