// api/graph_book_copies.cpp - the notes on a graph, for its copies.
#include "api/check.hpp"
#include "api/graph_book.hpp"
#include "api/graph_parts.hpp"
#include "api/node_notes.hpp"

#include <algorithm>
#include <cstddef>

namespace weir::detail {
namespace {

// The nodes of a graph with the lines that added them; none of nodes that are gone, which no driver may be asked about.
std::vector<node_site> sites_of_nodes(CUgraph graph, call_site at) {
  std::vector<node_site> sites = noted_sites(graph);
  if (sites.empty()) return sites;
  constexpr const char* call = "cuGraphGetNodes";
  std::size_t count = 0;
  check(driver().cuGraphGetNodes(graph, nullptr, &count), call, subject::graph(graph), at);
  std::vector<CUgraphNode> nodes(count);
  if (count != 0) check(driver().cuGraphGetNodes(graph, nodes.data(), &count), call, subject::graph(graph), at);
  std::ranges::sort(nodes);
  std::erase_if(sites, [&](const node_site& site) { return !std::ranges::binary_search(nodes, site.node); });
  return sites;
}

}  // namespace

void copy_notes(CUgraph from, CUgraph copy, call_site at) {
  if (!any_graph_noted()) return;
  const tag_list tags = noted_tags(from);
  const auto children = noted_children(from);
  std::vector<node_site> sites = sites_of_nodes(from, at);
  if (tags.empty() && children.empty() && sites.empty()) return;
  const subject on = subject::graph(from);
  const auto same_of = [&](CUgraphNode node) {
    CUgraphNode same = nullptr;
    check(driver().cuGraphNodeFindInClone(&same, node, copy), "cuGraphNodeFindInClone", on, at);
    return same;
  };
  if (root_of(copy) == copy) open_book(copy, at);
  for (const auto& [tag, node] : tags) note_tag(copy, same_of(node), tag);
  for (node_site& site : sites) site.node = same_of(site.node);
  note_sites(copy, sites);
  for (const auto& [node, child] : children) {
    const CUgraphNode same = same_of(node);
    CUgraph part = nullptr;
    check(driver().cuGraphChildGraphNodeGetGraph(same, &part), "cuGraphChildGraphNodeGetGraph", on, at);
    note_part(part, copy, same, part_kind::child);
    copy_notes(child, part, at);
  }
}

}  // namespace weir::detail
