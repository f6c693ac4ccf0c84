// api/graph/drawing/graph_drawing_nodes.cpp - a graph read for drawing.
#include "api/graph/drawing/graph_drawing_nodes.hpp"

#include "api/core/check.hpp"
#include "api/graph/drawing/graph_drawing_words.hpp"
#include "api/graph/graph_parts.hpp"
#include "api/graph/node_notes.hpp"

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
    drawn_graph made;
    made.title = std::move(title);
    const std::unordered_map<CUgraphNode, std::string> sites = sites_of(graph);
    std::unordered_map<CUgraphNode, std::size_t> places;
    for (const graph_node node : graph.nodes(at_)) {
      places.emplace(node.get(), made.nodes.size());
      made.nodes.push_back(read(node, sites));
    }
    for (const graph_edge& edge : graph.edges(at_)) {
      made.edges.push_back({places.at(edge.from.get()), places.at(edge.to.get()), edge.data});
    }
    std::ranges::sort(made.edges, {}, [](const drawn_edge& e) {
      return std::tuple{e.from, e.to, e.data.from_port, e.data.to_port, e.data.type};
    });
    return made;
  }

 private:
  [[nodiscard]] static std::unordered_map<CUgraphNode, std::string> sites_of(graph_ref graph) {
    std::unordered_map<CUgraphNode, std::string> sites;
    for (const node_site& site : noted_sites(graph.get())) {
      sites[site.node] = site.line == 0 ? "" : fmt::format("{}:{}", site.file, site.line);
    }
    return sites;
  }

  [[nodiscard]] drawn_node read(graph_node node, const std::unordered_map<CUgraphNode, std::string>& sites) {
    drawn_node made;
    made.kind = node.kind(at_);
    made.tag = noted_tag(node.graph().get(), node.get());
    if (const auto site = sites.find(node.get()); site != sites.end()) made.site = site->second;
    made.does = words_.of(node, made.kind);
    if (made.kind == node_kind::child_graph) {
      CUgraph child = nullptr;
      check(driver().cuGraphChildGraphNodeGetGraph(node.get(), &child), "cuGraphChildGraphNodeGetGraph",
            subject::graph(node.graph().get()), at_);
      made.parts.push_back(read(graph_ref{child}, {}));
    } else if (const auto noted = conditional_noted(node.graph().get(), node.get());
               noted && made.kind == node_kind::conditional) {
      for (std::size_t i = 0; i < noted->bodies.size(); ++i) {
        made.parts.push_back(read(graph_ref{noted->bodies[i]}, body_title(noted->type, i)));
      }
    }
    return made;
  }

  node_words words_;
  call_site at_;
};

}  // namespace

std::size_t drawn_graph::count() const noexcept {
  std::size_t all = nodes.size();
  for (const drawn_node& node : nodes) {
    for (const drawn_graph& part : node.parts) all += part.count();
  }
  return all;
}

drawn_graph drawn(graph_ref graph, call_site at) { return reader{at}.read(graph, {}); }

}  // namespace weir::detail
