// api/graph/drawing/graph_drawing_nodes.hpp - what is drawn of a graph: its nodes in words, its
// edges, its parts.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/graph/graph.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::detail {

struct drawn_graph;

struct drawn_node {
  node_kind kind = node_kind::empty;
  std::string tag;
  std::string description;         // "copy 4 KiB, host to device"
  std::string site;                // "main.cpp:12", or nothing
  std::vector<drawn_graph> parts;  // a child graph, or bodies
};

// By the places of the nodes.
struct drawn_edge {
  std::size_t from = 0;
  std::size_t to = 0;
  edge_data data;
};

struct drawn_graph {
  std::string title;  // of a part: what has to be for it to run
  std::vector<drawn_node> nodes;
  std::vector<drawn_edge> edges;  // by where they begin, and then by where they lead

  [[nodiscard]] std::size_t count() const noexcept;  // of its nodes, and those of its parts
};

// Reads all of it. Throws what asking for nodes, edges and kinds throws.
[[nodiscard]] drawn_graph read_graph(graph_ref graph, call_site at);

}  // namespace weir::detail
