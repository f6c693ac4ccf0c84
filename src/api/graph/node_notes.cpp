// api/graph/node_notes.cpp - the notes on nodes: tags, call sites, owners.
#include "api/graph/node_notes.hpp"

#include "api/graph/graph_book.hpp"
#include "api/graph/graph_library.hpp"

#include <weir/graph/graph.hpp>

#include <algorithm>
#include <utility>

namespace weir::detail {

void note_tag(CUgraph graph, CUgraphNode node, std::string_view tag) {
  const locked_library in;
  book* const found = in->find(graph);
  if (found == nullptr) return;
  if (!tag.empty()) {
    in->notes_on(*found, node).tag = tag;
  } else if (const auto notes = found->nodes.find(node); notes != found->nodes.end()) {
    notes->second.tag.clear();
  }
}

std::string noted_tag(CUgraph graph, CUgraphNode node) {
  if (!any_graph_noted()) return {};
  const locked_library in;
  const book* const found = in->find(graph);
  if (found == nullptr) return {};
  const auto notes = found->nodes.find(node);
  return notes == found->nodes.end() ? std::string{} : notes->second.tag;
}

found_tag find_tag(CUgraph graph, std::string_view tag) {
  found_tag result;
  if (!any_graph_noted() || tag.empty()) return result;
  const locked_library in;
  const book* const found = in->find(graph);
  if (found == nullptr) return result;
  for (const auto& [node, notes] : found->nodes) {
    if (notes.tag != tag) continue;
    result.node = node;
    ++result.count;
  }
  return result;
}

tag_list noted_tags(CUgraph graph) {
  tag_list list;
  if (!any_graph_noted()) return list;
  const locked_library in;
  const book* const found = in->find(graph);
  if (found == nullptr) return list;
  list.graph = graph;
  list.book = found->number;
  list.as_of = in->last_number;
  for (const auto& [node, notes] : found->nodes) {
    if (!notes.tag.empty()) list.tags.emplace_back(notes.tag, node);
  }
  return list;
}

bool is_there(const tag_list& of, CUgraphNode node) noexcept {
  if (!any_graph_noted()) return false;
  const locked_library in;
  const book* const found = in->find(of.graph);
  if (found == nullptr || found->number != of.book) return false;
  const auto notes = found->nodes.find(node);
  return notes != found->nodes.end() && notes->second.number <= of.as_of;
}

bool is_known_node(CUgraph graph, CUgraphNode node) noexcept {
  if (!any_graph_noted()) return false;
  const locked_library in;
  const book* const found = in->find(graph);
  if (found == nullptr) return false;
  if (found->nodes.contains(node)) return true;
  // Mostly it is one of the last.
  return std::ranges::find(found->sites.rbegin(), found->sites.rend(), node, &node_site::node) != found->sites.rend();
}

CUgraph noted_graph_of(CUgraphNode node) {
  if (!any_graph_noted()) return nullptr;
  const locked_library in;
  const auto has_it = [&](const auto& each) { return each.second.nodes.contains(node); };
  const auto found = std::ranges::find_if(in->all, has_it);
  return found == in->all.end() ? nullptr : found->first;
}

std::vector<CUuserObject> note_owners(CUgraph graph, CUgraphNode node, std::vector<CUuserObject> owners,
                                      std::vector<shared_owner*> owned) {
  if (owners.empty() && !any_graph_noted()) return {};
  const locked_library in;
  book* const found = in->find(graph);
  if (found == nullptr) return {};
  if (owners.empty() && !found->nodes.contains(node)) return {};
  node_notes& notes = in->notes_on(*found, node);
  notes.owned = std::move(owned);
  return std::exchange(notes.owners, std::move(owners));
}

void share_owners(graph_node node, std::span<owner_share> room) noexcept {
  if (!any_graph_noted()) return;
  const locked_library in;  // as long as it is noted the graph has it
  const book* const found = in->find(node.graph().get());
  if (found == nullptr) return;
  const auto notes = found->nodes.find(node.get());
  if (notes == found->nodes.end()) return;
  for (std::size_t i = 0; i < std::min(room.size(), notes->second.owned.size()); ++i) {
    shared_owner& owner = *notes->second.owned[i];
    __atomic_fetch_add(&owner.shares, 1, __ATOMIC_RELAXED);
    room[i] = owner_share{owner};
  }
}

node_site reserve_site(CUgraph graph, call_site at) {
  node_site site{nullptr, "", at.line()};
  if (in_forked_child()) return site;
  const auto made_room = [&] {
    const locked_library in;
    book* const found = in->find(graph);
    if (found == nullptr) return false;
    if (found->sites.size() == found->sites.capacity()) found->sites.reserve(2 * found->sites.size() + 4);
    site.file = in->file_named(at.file_name());
    return true;
  };
  if (made_room()) return site;
  open_book(graph, at);
  made_room();
  return site;
}

std::vector<CUuserObject> note_site(CUgraph graph, const node_site& site) noexcept {
  if (!any_graph_noted()) return {};
  const locked_library in;
  book* const found = in->find(graph);
  if (found == nullptr) return {};
  if (found->sites.size() < found->sites.capacity()) found->sites.push_back(site);
  return in->forget(*found, site.node);
}

std::vector<node_site> noted_sites(CUgraph graph) {
  if (!any_graph_noted()) return {};
  const locked_library in;
  const book* const found = in->find(graph);
  return found == nullptr ? std::vector<node_site>{} : found->sites;
}

void note_sites(CUgraph graph, const std::vector<node_site>& sites) {
  const locked_library in;
  if (book* const found = in->find(graph)) found->sites.insert(found->sites.end(), sites.begin(), sites.end());
}

std::vector<CUuserObject> forget_node(CUgraph graph, CUgraphNode node) noexcept {
  if (!any_graph_noted()) return {};
  const locked_library in;
  book* const found = in->find(graph);
  if (found == nullptr) return {};
  std::erase_if(found->sites, [&](const node_site& site) { return site.node == node; });
  return in->forget(*found, node);
}

}  // namespace weir::detail
