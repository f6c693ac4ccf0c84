// SPDX-License-Identifier: Apache-2.0
// tools/weir/graph/dot_text.hpp - a graph in the DOT language: its statements.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weir::tool {

using dot_values = std::map<std::string, std::string, std::less<>>;

struct dot_node {
  std::string name;
  // Index of the innermost subgraph with the node's own first statement; if there is none, with its
  // first edge.
  std::size_t subgraph = 0;
  dot_values attributes;
};

struct dot_edge {
  std::size_t source = 0;  // indices of nodes
  std::size_t target = 0;
  dot_values attributes;
};

struct dot_subgraph {
  std::string name;
  std::size_t parent = 0;  // index of the enclosing subgraph; 0 for the graph itself
  dot_values attributes;
};

struct dot_graph {
  std::vector<dot_subgraph> subgraphs;  // the first is the graph itself
  std::vector<dot_node> nodes;          // in the order in which the text mentions them
  std::vector<dot_edge> edges;
};

// Returns the value of an attribute; empty if it is not set.
[[nodiscard]] std::string_view value_of(const dot_values& attributes, std::string_view name);

// Reads one graph. Default attributes of nodes and edges are skipped. In quoted strings, `\"` is
// replaced by `"`, and an escaped line end is removed; other escapes stay for the caller. Throws
// failure with the name of the file and the line for a text that is no DOT, for edges of whole
// subgraphs, and for a deep nesting.
[[nodiscard]] dot_graph parse_dot(std::string_view text, const std::string& file);

}  // namespace weir::tool
