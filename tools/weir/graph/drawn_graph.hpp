// SPDX-License-Identifier: Apache-2.0
// tools/weir/graph/drawn_graph.hpp - the data of a drawing: described nodes, edges and parts.
#pragma once

#include "graph/dot_text.hpp"

#include <weir/graph/nodes/graph_node.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace weir::tool {

struct drawn_graph;

struct drawn_node {
  std::optional<node_kind> kind;  // none if the text does not contain a known one
  std::string tag;
  std::string description;         // such as "copy 4 KiB, host to device"
  std::string site;                // such as "main.cpp:12", or empty
  std::vector<drawn_graph> parts;  // a child graph, or bodies
};

// An edge by the indices of its nodes.
struct drawn_edge {
  std::size_t source = 0;
  std::size_t target = 0;
  std::string label;    // empty for the edges of a driver
  bool dashed = false;  // false for the edges of a driver

  [[nodiscard]] bool is_plain() const noexcept { return label.empty() && !dashed; }
};

struct drawn_graph {
  std::string title;  // for a part, the condition under which it runs
  std::vector<drawn_node> nodes;
  std::vector<drawn_edge> edges;  // sorted by source, then by target

  [[nodiscard]] std::size_t count() const noexcept;  // number of nodes, including those of parts
};

// Reads the description of a driver. The parts of a node are the subgraphs that its label names.
// Nodes of other subgraphs belong to the graph around them. Throws failure for a deep nesting.
[[nodiscard]] drawn_graph read_drawn_graph(const dot_graph& text);

}  // namespace weir::tool
