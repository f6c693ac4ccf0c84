// SPDX-License-Identifier: Apache-2.0
// api/graph/node_metadata.cpp - what weir stores about nodes: tags, call sites, and parameter
// owners.
#include "api/graph/node_metadata.hpp"

#include "api/deferred/reclaimer.hpp"
#include "api/graph/graph_metadata.hpp"
#include "api/graph/user_object.hpp"

#include <weir/detail/keep_alive.hpp>
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

tag_match find_tag(CUgraph graph, std::string_view tag) {
  tag_match result;
  const locked_graph_metadata metadata{graph};
  if (!metadata || tag.empty()) return result;
  for (const auto& [node, entry] : metadata->nodes) {
    if (entry.tag != tag) continue;
    result.node = node;
    ++result.node_count;
  }
  return result;
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

bool is_known_node(CUgraph graph, CUgraphNode node) noexcept {
  const locked_graph_metadata metadata{graph};
  if (!metadata) return false;
  if (metadata->nodes.contains(node)) return true;
  // Searches from the end, because callers mostly ask for a node that was added recently.
  return std::ranges::find(metadata->sites.rbegin(), metadata->sites.rend(), node,
                           &node_call_site::node) != metadata->sites.rend();
}

CUgraph find_graph_of(CUgraphNode node) {
  if (!any_graph_metadata()) return nullptr;
  const locked_metadata_store store;
  const auto has_node = [&](const auto& each) { return each.second.nodes.contains(node); };
  const auto found = std::ranges::find_if(store->graphs, has_node);
  return found == store->graphs.end() ? nullptr : found->first;
}

std::vector<CUuserObject> set_owners(CUgraph graph, CUgraphNode node,
                                     std::vector<CUuserObject> owners,
                                     std::vector<keep_alive*> owned) {
  const locked_graph_metadata metadata{graph};
  if (!metadata) return {};
  if (owners.empty() && !metadata->nodes.contains(node)) return {};
  node_metadata& entry = metadata.store().metadata_of(*metadata, node);
  entry.owned = std::move(owned);
  return std::exchange(entry.owners, std::move(owners));
}

void get_owners(graph_node node, std::span<keep_alive_ref> shares) noexcept {
  // The graph keeps the owners alive while the metadata list them. The lock prevents that they are
  // removed from the list meanwhile.
  const locked_graph_metadata metadata{node.graph().get()};
  const node_metadata* const entry = metadata.find_node(node.get());
  if (entry == nullptr) return;
  for (std::size_t i = 0; i < std::min(shares.size(), entry->owned.size()); ++i) {
    keep_alive& owner = *entry->owned[i];
    __atomic_fetch_add(&owner.shares, 1, __ATOMIC_RELAXED);
    shares[i] = keep_alive_ref{owner};
  }
}

node_call_site reserve_call_site(CUgraph graph, call_site at) {
  node_call_site site{nullptr, "", at.line()};
  if (os::in_forked_child()) return site;
  const auto reserve = [&] {
    const locked_graph_metadata metadata{graph};
    if (!metadata) return false;
    if (metadata->sites.size() == metadata->sites.capacity())
      metadata->sites.reserve(2 * metadata->sites.size() + 4);
    site.file = metadata.store().intern_file_name(at.file_name());
    return true;
  };
  if (reserve()) return site;
  ensure_metadata(graph, at);
  reserve();
  return site;
}

std::vector<CUuserObject> set_call_site(CUgraph graph, const node_call_site& site) noexcept {
  const locked_graph_metadata metadata{graph};
  if (!metadata) return {};
  if (metadata->sites.size() < metadata->sites.capacity()) metadata->sites.push_back(site);
  return metadata.store().erase_node(*metadata, site.node);
}

std::vector<node_call_site> get_call_sites(CUgraph graph) {
  const locked_graph_metadata metadata{graph};
  return metadata ? metadata->sites : std::vector<node_call_site>{};
}

void add_call_sites(CUgraph graph, const std::vector<node_call_site>& sites) {
  const locked_graph_metadata metadata{graph};
  if (metadata) metadata->sites.insert(metadata->sites.end(), sites.begin(), sites.end());
}

std::vector<CUuserObject> erase_node_metadata(CUgraph graph, CUgraphNode node) noexcept {
  const locked_graph_metadata metadata{graph};
  if (!metadata) return {};
  std::erase_if(metadata->sites, [&](const node_call_site& site) { return site.node == node; });
  return metadata.store().erase_node(*metadata, node);
}

namespace {

// The driver calls this function when the graph, its clones and their executables have released the
// user object.
void CUDA_CB drop_share(void* data) {
  auto& owner = *static_cast<keep_alive*>(data);
  if (keep_alive_ref::release_reference(owner)) defer_user_destructor(owner);
}

}  // namespace

// Delegates to another constructor. Therefore, if a step throws, the destructor runs and releases
// the user objects created so far.
node_owners::node_owners(CUgraph graph, owner_list owners, call_site at) : node_owners{graph} {
  const std::span all{owners.first, owners.size};
  const auto owner_count =
      std::ranges::count_if(all, [](const keep_alive_ref& s) { return s.get() != nullptr; });
  if (owner_count == 0) return;
  if (graph == nullptr) {
    throw_error(errc::invalid_value, "cuGraphRetainUserObject", "a node of an unknown graph",
                "the graph that keeps the parameters' owners alive is unknown; name it with "
                "graph_node{handle, graph}",
                at);
  }
  ensure_metadata(graph, at);
  objects_.reserve(static_cast<std::size_t>(owner_count));
  owned_.reserve(static_cast<std::size_t>(owner_count));
  for (const keep_alive_ref& share : all) {
    if (share.get() == nullptr) continue;
    keep_alive_ref reference = share;
    const CUuserObject object =
        create_user_object(reference.get(), &drop_share, subject::graph(graph), at);
    static_cast<void>(reference.release());
    move_to_graph(graph, object, at);
    objects_.push_back(object);
    owned_.push_back(share.get());
  }
}

node_owners::~node_owners() { release_user_objects(graph_, objects_); }

void node_owners::assign_to(CUgraphNode node) noexcept {
  std::vector<CUuserObject> previous_owners;
  try {
    previous_owners = set_owners(graph_, node, objects_, owned_);
  } catch (...) {
    // Memory is exhausted. The graph keeps the old and the new user objects until it is destroyed.
  }
  objects_.clear();
  release_user_objects(graph_, previous_owners);
}

}  // namespace weir::detail
