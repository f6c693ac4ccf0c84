// api/graph/graph_metadata_copy.cpp - the notes on a graph, for its copies.
#include "api/capture/driver_frontier.hpp"
#include "api/core/check.hpp"
#include "api/graph/graph_metadata.hpp"
#include "api/graph/graph_parts.hpp"
#include "api/graph/node_metadata.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace weir::detail {
namespace {

// Are those nodes still in the graph? No driver may be asked about one that is gone.
class existing_nodes {
 public:
  existing_nodes(CUgraph graph, call_site at) : nodes_{nodes_of(graph, at)} {
    std::ranges::sort(nodes_);
  }

  // Takes out what is noted of others.
  template <class Entries, class NodeOf>
  void erase_others(Entries& entries, NodeOf node_of) const {
    std::erase_if(entries, [&](const auto& each) {
      return !std::ranges::binary_search(nodes_, std::invoke(node_of, each));
    });
  }

 private:
  std::vector<CUgraphNode> nodes_;
};

}  // namespace

void copy_metadata(CUgraph from, CUgraph copy, call_site at) {
  if (!any_graph_metadata()) return;
  auto tags = get_tags(from).tags;
  auto children = get_child_graphs(from);
  std::vector<node_call_site> sites = get_call_sites(from);
  if (tags.empty() && children.empty() && sites.empty()) return;
  const existing_nodes existing{from, at};
  existing.erase_others(tags, &std::pair<std::string, CUgraphNode>::second);
  existing.erase_others(children, &std::pair<CUgraphNode, CUgraph>::first);
  existing.erase_others(sites, &node_call_site::node);
  const subject on = subject::graph(from);
  const auto clone_of = [&](CUgraphNode node) {
    CUgraphNode clone = nullptr;
    check(driver().cuGraphNodeFindInClone(&clone, node, copy), "cuGraphNodeFindInClone", on, at);
    return clone;
  };
  if (root_of(copy) == copy) ensure_metadata(copy, at);
  for (const auto& [tag, node] : tags) set_tag(copy, clone_of(node), tag);
  for (node_call_site& site : sites) site.node = clone_of(site.node);
  add_call_sites(copy, sites);
  for (const auto& [node, child] : children) {
    const CUgraphNode clone = clone_of(node);
    CUgraph part = nullptr;
    check(driver().cuGraphChildGraphNodeGetGraph(clone, &part), "cuGraphChildGraphNodeGetGraph", on,
          at);
    add_part(part, copy, clone, part_kind::child);
    copy_metadata(child, part, at);
  }
}

}  // namespace weir::detail
