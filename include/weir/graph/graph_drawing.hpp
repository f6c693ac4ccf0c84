// weir/graph/graph_drawing.hpp - graphs as pictures that people read.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/graph/graph.hpp>

#include <cstddef>
#include <string>

namespace weir {

enum class drawing_direction : unsigned char { down, right };

struct drawing_options {
  // What comes later is further down, or further right.
  drawing_direction direction = drawing_direction::down;
  // In a graph of more nodes than this, those of its parts included, what repeats is one box that
  // tells how often: nodes one after the other, at least four, of one kind or of up to four kinds
  // in turn. Nodes with a tag keep boxes of their own. 0 folds always, static_cast<std::size_t>(-1)
  // never.
  std::size_t fold_above = 40;
  // The line of the program that added a node: of nodes that weir added by hand and of their
  // copies. Of captured ones it is not known.
  bool call_sites = true;
  // Which colour is which kind, of those that there are.
  bool legend = true;
};

// The graph in the DOT language, for Graphviz: `weir graph FILE.dot -o FILE.svg`, or `dot -Tsvg`. A
// box a node, with its tag, what it does in a few words and the line that added it; child graphs
// and bodies are frames around theirs. Colours are those that colour-blind people can tell apart.
// It has no addresses: the same graph gives the same text, in another process too. Events have the
// names that they were given (name.hpp), else numbers. Where the driver does not tell what a node
// does, its kind is all there is. Thread safety and captures: as graph_ref's questions; in a host
// function: refused (not_permitted). cuGraphGetNodes, cuGraphGetEdges, cuGraphNodeGetType,
// cuGraphChildGraphNodeGetGraph, and what asks for parameters.
[[nodiscard]] WEIR_EXPORT std::string drawing_of(graph_ref graph,
                                                 const drawing_options& options = {},
                                                 call_site at = call_site::current());

// The same to a file, whole or not at all: if it fails (operating_system, with the path in the
// text) what was there before stays. What is no regular file (/dev/stdout, a pipe) is written to as
// it is.
WEIR_EXPORT void write_drawing(graph_ref graph, const std::string& path,
                               const drawing_options& options = {},
                               call_site at = call_site::current());

}  // namespace weir
