// SPDX-License-Identifier: Apache-2.0
// api/graph/node_metadata.cpp - what weir stores about nodes: tags, call sites, and parameter
// owners.
#include "api/graph/node_metadata.hpp"

#include "api/deferred/reclaimer.hpp"
#include "api/graph/graph_metadata.hpp"

#include <weir/detail/keep_alive.hpp>
#include <weir/graph/graph.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace weir::detail {

void set_tag(CUgraph graph, CUgraphNode node, std::string_view tag) {
  const locked_metadata_store store;
  graph_metadata* const found = store->find(graph);
  if (found == nullptr) return;
  if (!tag.empty()) {
    store->metadata_of(*found, node).tag = tag;
  } else if (const auto metadata = found->nodes.find(node); metadata != found->nodes.end()) {
    metadata->second.tag.clear();
  }
}

std::string get_tag(CUgraph graph, CUgraphNode node) {
  if (!any_graph_metadata()) return {};
  const locked_metadata_store store;
  const graph_metadata* const found = store->find(graph);
  if (found == nullptr) return {};
  const auto metadata = found->nodes.find(node);
  return metadata == found->nodes.end() ? std::string{} : metadata->second.tag;
}

tag_match find_tag(CUgraph graph, std::string_view tag) {
  tag_match result;
  if (!any_graph_metadata() || tag.empty()) return result;
  const locked_metadata_store store;
  const graph_metadata* const found = store->find(graph);
  if (found == nullptr) return result;
  for (const auto& [node, metadata] : found->nodes) {
    if (metadata.tag != tag) continue;
    result.node = node;
    ++result.node_count;
  }
  return result;
}

tag_list get_tags(CUgraph graph) {
  tag_list list;
  if (!any_graph_metadata()) return list;
  const locked_metadata_store store;
  const graph_metadata* const found = store->find(graph);
  if (found == nullptr) return list;
  list.graph = graph;
  list.metadata_id = found->id;
  list.last_id = store->last_id;
  for (const auto& [node, metadata] : found->nodes) {
    if (!metadata.tag.empty()) list.tags.emplace_back(metadata.tag, node);
  }
  return list;
}

bool is_present(const tag_list& list, CUgraphNode node) noexcept {
  if (!any_graph_metadata()) return false;
  const locked_metadata_store store;
  const graph_metadata* const found = store->find(list.graph);
  if (found == nullptr || found->id != list.metadata_id) return false;
  const auto metadata = found->nodes.find(node);
  return metadata != found->nodes.end() && metadata->second.id <= list.last_id;
}

bool is_known_node(CUgraph graph, CUgraphNode node) noexcept {
  if (!any_graph_metadata()) return false;
  const locked_metadata_store store;
  const graph_metadata* const found = store->find(graph);
  if (found == nullptr) return false;
  if (found->nodes.contains(node)) return true;
  // Searches backwards, because the node is mostly one of the last.
  return std::ranges::find(found->sites.rbegin(), found->sites.rend(), node,
                           &node_call_site::node) != found->sites.rend();
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
  if (owners.empty() && !any_graph_metadata()) return {};
  const locked_metadata_store store;
  graph_metadata* const found = store->find(graph);
  if (found == nullptr) return {};
  if (owners.empty() && !found->nodes.contains(node)) return {};
  node_metadata& metadata = store->metadata_of(*found, node);
  metadata.owned = std::move(owned);
  return std::exchange(metadata.owners, std::move(owners));
}

void get_owners(graph_node node, std::span<keep_alive_ref> shares) noexcept {
  if (!any_graph_metadata()) return;
  const locked_metadata_store store;  // the graph keeps its owners while they are listed
  const graph_metadata* const found = store->find(node.graph().get());
  if (found == nullptr) return;
  const auto metadata = found->nodes.find(node.get());
  if (metadata == found->nodes.end()) return;
  for (std::size_t i = 0; i < std::min(shares.size(), metadata->second.owned.size()); ++i) {
    keep_alive& owner = *metadata->second.owned[i];
    __atomic_fetch_add(&owner.shares, 1, __ATOMIC_RELAXED);
    shares[i] = keep_alive_ref{owner};
  }
}

node_call_site reserve_call_site(CUgraph graph, call_site at) {
  node_call_site site{nullptr, "", at.line()};
  if (in_forked_child()) return site;
  const auto reserved = [&] {
    const locked_metadata_store store;
    graph_metadata* const found = store->find(graph);
    if (found == nullptr) return false;
    if (found->sites.size() == found->sites.capacity())
      found->sites.reserve(2 * found->sites.size() + 4);
    site.file = store->intern_file_name(at.file_name());
    return true;
  };
  if (reserved()) return site;
  ensure_metadata(graph, at);
  reserved();
  return site;
}

std::vector<CUuserObject> set_call_site(CUgraph graph, const node_call_site& site) noexcept {
  if (!any_graph_metadata()) return {};
  const locked_metadata_store store;
  graph_metadata* const found = store->find(graph);
  if (found == nullptr) return {};
  if (found->sites.size() < found->sites.capacity()) found->sites.push_back(site);
  return store->erase_node(*found, site.node);
}

std::vector<node_call_site> get_call_sites(CUgraph graph) {
  if (!any_graph_metadata()) return {};
  const locked_metadata_store store;
  const graph_metadata* const found = store->find(graph);
  return found == nullptr ? std::vector<node_call_site>{} : found->sites;
}

void add_call_sites(CUgraph graph, const std::vector<node_call_site>& sites) {
  const locked_metadata_store store;
  if (graph_metadata* const found = store->find(graph))
    found->sites.insert(found->sites.end(), sites.begin(), sites.end());
}

std::vector<CUuserObject> erase_node_metadata(CUgraph graph, CUgraphNode node) noexcept {
  if (!any_graph_metadata()) return {};
  const locked_metadata_store store;
  graph_metadata* const found = store->find(graph);
  if (found == nullptr) return {};
  std::erase_if(found->sites, [&](const node_call_site& site) { return site.node == node; });
  return store->erase_node(*found, node);
}

namespace {

// The driver calls this when the graph, its clones and their executables have released the object.
void CUDA_CB drop_share(void* data) {
  auto& owner = *static_cast<keep_alive*>(data);
  if (keep_alive_ref::release_reference(owner)) defer_user_destructor(owner);
}

}  // namespace

// Delegates to another constructor, so that the destructor releases the objects so far if a later
// step throws.
node_owners::node_owners(CUgraph graph, owner_list owners, call_site at) : node_owners{graph} {
  const std::span all{owners.first, owners.size};
  const auto owner_count =
      std::ranges::count_if(all, [](const keep_alive_ref& s) { return s.get() != nullptr; });
  if (owner_count == 0) return;
  constexpr const char* call = "cuGraphRetainUserObject";
  const subject named_graph = subject::graph(graph);
  if (graph == nullptr) {
    throw_error(errc::invalid_value, call, "a node of an unknown graph",
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
    CUuserObject object = nullptr;
    check(driver().cuUserObjectCreate(&object, reference.get(), &drop_share, 1,
                                      CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
          "cuUserObjectCreate", named_graph, at);
    static_cast<void>(reference.release());
    const CUresult answer =
        driver().cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
    if (answer != CUDA_SUCCESS) {
      report_if_failed(driver().cuUserObjectRelease(object, 1), "cuUserObjectRelease", named_graph);
      check(answer, call, named_graph, at);
    }
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
    // Memory is exhausted. The graph keeps both sets of objects until it is destroyed.
  }
  objects_.clear();
  release_user_objects(graph_, previous_owners);
}

void release_user_objects(CUgraph graph, const std::vector<CUuserObject>& objects) noexcept {
  for (const CUuserObject object : objects) {
    report_if_failed(driver().cuGraphReleaseUserObject(graph, object, 1),
                     "cuGraphReleaseUserObject", subject::graph(graph));
  }
}

}  // namespace weir::detail
