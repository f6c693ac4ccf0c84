// SPDX-License-Identifier: Apache-2.0
// weir/graph/graph_drawing.hpp - readable drawings of graphs.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/graph/graph.hpp>

#include <cstddef>
#include <string>

namespace weir {

/// The direction in which a drawing runs.
enum class drawing_direction : unsigned char { down, right };

/// Options of a drawing.
struct drawing_options {
  /// Later nodes are further down, or further to the right.
  drawing_direction direction = drawing_direction::down;
  /// Folds repeated nodes into one box with a count if the graph, including child graphs and
  /// bodies, has more nodes than this.
  /// Folded are sequences of at least four nodes, of one kind or of up to four kinds in turn. Nodes
  /// with a tag keep their own boxes. 0 always folds, static_cast<std::size_t>(-1) never.
  std::size_t fold_above = 40;
  /// Shows the source line that added a node. Known for nodes added by hand through weir and for
  /// their copies, not for captured nodes.
  bool call_sites = true;
  /// Shows which colour means which kind, for the kinds that occur.
  bool legend = true;
};

/// Returns a drawing of the graph in the DOT language, for Graphviz: `weir graph FILE.dot -o
/// FILE.svg`, or `dot -Tsvg`.
///
/// Each node is a box with its tag, a short description and the line that added it. Child graphs
/// and bodies are frames. The colours are distinguishable for colour-blind readers.
/// The text contains no addresses: equal graphs give equal texts, in other processes too. Events
/// appear by their names (name.hpp), else by numbers. If the driver does not report what a node
/// does, only its kind is shown.
///
/// In a capture: as the queries of graph_ref.
/// In a host function: throws `not_permitted`.
/// Thread safety: as the queries of graph_ref.
/// Driver: cuGraphGetNodes, cuGraphGetEdges, cuGraphNodeGetType, cuGraphChildGraphNodeGetGraph, and
/// the calls that return parameters of nodes.
[[nodiscard]] WEIR_EXPORT std::string drawing_of(graph_ref graph,
                                                 const drawing_options& options = {},
                                                 call_site at = call_site::current());

/// Writes the drawing that drawing_of() returns to a file, completely or not at all. A target that
/// is not a regular file (/dev/stdout, a pipe) is written to directly.
///
/// Throws: `operating_system`, with the path in the text. The previous content of the file stays.
/// Driver: as drawing_of().
WEIR_EXPORT void write_drawing(graph_ref graph, const std::string& path,
                               const drawing_options& options = {},
                               call_site at = call_site::current());

}  // namespace weir
