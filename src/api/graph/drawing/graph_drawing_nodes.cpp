// SPDX-License-Identifier: Apache-2.0
// api/graph/drawing/graph_drawing_nodes.cpp - reads a graph for drawing.
#include "api/graph/drawing/graph_drawing_nodes.hpp"

#include "api/core/check.hpp"
#include "api/graph/drawing/graph_drawing_descriptions.hpp"
#include "api/graph/graph_parts.hpp"
#include "api/graph/node_metadata.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace weir::detail {
namespace {

class reader {
 public:
  explicit reader(call_site at) noexcept : at_{at} {}

  [[nodiscard]] drawn_graph read(graph_ref graph, std::string title) {
    drawn_graph created;
    created.title = std::move(title);
    const std::unordered_map<CUgraphNode, std::string> sites = sites_of(graph);
    std::unordered_map<CUgraphNode, std::size_t> index_of_node;
    for (const graph_node node : graph.nodes(at_)) {
      index_of_node.emplace(node.get(), created.nodes.size());
      created.nodes.push_back(read(node, sites));
    }
    for (const graph_edge& edge : graph.edges(at_)) {
      created.edges.push_back(
          {index_of_node.at(edge.from.get()), index_of_node.at(edge.to.get()), edge.data});
    }
    std::ranges::sort(created.edges, {}, [](const drawn_edge& e) {
      return std::tuple{e.from, e.to, e.data.from_port, e.data.to_port, e.data.type};
    });
    return created;
  }

 private:
  [[nodiscard]] static std::unordered_map<CUgraphNode, std::string> sites_of(graph_ref graph) {
    std::unordered_map<CUgraphNode, std::string> sites;
    for (const node_call_site& site : get_call_sites(graph.get())) {
      sites[site.node] = site.line == 0 ? "" : fmt::format("{}:{}", site.file, site.line);
    }
    return sites;
  }

  [[nodiscard]] drawn_node read(graph_node node,
                                const std::unordered_map<CUgraphNode, std::string>& sites) {
    drawn_node created;
    created.kind = node.kind(at_);
    created.tag = get_tag(node.graph().get(), node.get());
    if (const auto site = sites.find(node.get()); site != sites.end()) created.site = site->second;
    created.description = descriptions_.of(node, created.kind);
    if (created.kind == node_kind::child_graph) {
      CUgraph child = nullptr;
      check(driver().cuGraphChildGraphNodeGetGraph(node.get(), &child),
            "cuGraphChildGraphNodeGetGraph", subject::graph(node.graph().get()), at_);
      created.parts.push_back(read(graph_ref{child}, {}));
    } else if (const auto conditional = find_conditional_metadata(node.graph().get(), node.get());
               conditional && created.kind == node_kind::conditional) {
      for (std::size_t i = 0; i < conditional->bodies.size(); ++i) {
        created.parts.push_back(
            read(graph_ref{conditional->bodies[i]}, body_title(conditional->type, i)));
      }
    }
    return created;
  }

  node_descriptions descriptions_;
  call_site at_;
};

}  // namespace

std::size_t drawn_graph::count() const noexcept {
  std::size_t total = nodes.size();
  for (const drawn_node& node : nodes) {
    for (const drawn_graph& part : node.parts) total += part.count();
  }
  return total;
}

drawn_graph read_graph(graph_ref graph, call_site at) { return reader{at}.read(graph, {}); }

}  // namespace weir::detail
