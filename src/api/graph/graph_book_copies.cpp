// api/graph/graph_book_copies.cpp - the notes on a graph, for its copies.
#include "api/core/check.hpp"
#include "api/capture/driver_frontier.hpp"
#include "api/graph/graph_book.hpp"
#include "api/graph/graph_parts.hpp"
#include "api/graph/node_notes.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace weir::detail {
namespace {

// Are those nodes still in the graph? No driver may be asked about one that is gone.
class present_nodes {
 public:
  present_nodes(CUgraph graph, call_site at) : nodes_{nodes_of(graph, at)} { std::ranges::sort(nodes_); }

  // Takes out what is noted of others.
  template <class Notes, class NodeOf>
  void keep_only(Notes& notes, NodeOf node_of) const {
    std::erase_if(notes,
                  [&](const auto& each) { return !std::ranges::binary_search(nodes_, std::invoke(node_of, each)); });
  }

 private:
  std::vector<CUgraphNode> nodes_;
};

}  // namespace

void copy_notes(CUgraph from, CUgraph copy, call_site at) {
  if (!any_graph_noted()) return;
  auto tags = noted_tags(from).tags;
  auto children = noted_children(from);
  std::vector<node_site> sites = noted_sites(from);
  if (tags.empty() && children.empty() && sites.empty()) return;
  const present_nodes present{from, at};
  present.keep_only(tags, &std::pair<std::string, CUgraphNode>::second);
  present.keep_only(children, &std::pair<CUgraphNode, CUgraph>::first);
  present.keep_only(sites, &node_site::node);
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
