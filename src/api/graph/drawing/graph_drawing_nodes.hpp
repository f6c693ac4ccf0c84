// SPDX-License-Identifier: Apache-2.0
// api/graph/drawing/graph_drawing_nodes.hpp - the data of a drawing: described nodes, edges and
// parts.
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
  std::string description;         // such as "copy 4 KiB, host to device"
  std::string site;                // such as "main.cpp:12", or empty
  std::vector<drawn_graph> parts;  // a child graph, or bodies
};

// An edge by the indices of its nodes.
struct drawn_edge {
  std::size_t from = 0;
  std::size_t to = 0;
  edge_data data;
};

struct drawn_graph {
  std::string title;  // for a part, the condition under which it runs
  std::vector<drawn_node> nodes;
  std::vector<drawn_edge> edges;  // sorted by source, then by target

  [[nodiscard]] std::size_t count() const noexcept;  // number of nodes, including those of parts
};

// Reads the whole graph.
// Throws: as the queries of nodes, edges and kinds.
[[nodiscard]] drawn_graph read_graph(graph_ref graph, call_site at);

}  // namespace weir::detail
