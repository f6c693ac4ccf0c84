// api/graph/node_metadata.cpp - the notes on nodes: tags, call sites, owners.
#include "api/graph/node_metadata.hpp"

#include "api/graph/graph_metadata.hpp"
#include "api/graph/graph_metadata_store.hpp"

#include <weir/graph/graph.hpp>

#include <algorithm>
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

bool is_present(const tag_list& of, CUgraphNode node) noexcept {
  if (!any_graph_metadata()) return false;
  const locked_metadata_store store;
  const graph_metadata* const found = store->find(of.graph);
  if (found == nullptr || found->id != of.metadata_id) return false;
  const auto metadata = found->nodes.find(node);
  return metadata != found->nodes.end() && metadata->second.id <= of.last_id;
}

bool is_known_node(CUgraph graph, CUgraphNode node) noexcept {
  if (!any_graph_metadata()) return false;
  const locked_metadata_store store;
  const graph_metadata* const found = store->find(graph);
  if (found == nullptr) return false;
  if (found->nodes.contains(node)) return true;
  // Mostly it is one of the last.
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
  const locked_metadata_store store;  // as long as it is noted the graph has it
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

}  // namespace weir::detail
