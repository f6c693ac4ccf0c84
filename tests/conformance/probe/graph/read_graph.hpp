// SPDX-License-Identifier: Apache-2.0
// probe/graph/read_graph.hpp - describes a graph or a capture in the recording's notation.
#pragma once

#include "probe/graph/build_graph.hpp"
#include "probe/world.hpp"

#include <string>

namespace weir::conformance {

class Rec;

// Stands for a count that the driver does not return.
constexpr size_t kUnknown = 9999;
size_t count_nodes(CUgraph gr);
size_t count_edges(CUgraph gr);
size_t count_roots(CUgraph gr);
size_t count_deps(CUgraphNode nd);
size_t count_dependents(CUgraphNode nd);

Nodes nodes_of(CUgraph gr);
std::string type_of(CUgraphNode n);
std::string listed_types(CUgraph gr);  // in the driver's order

// Returns the label of a host node, "set<value>" for a memset, the type of any other node.
std::string node_label(CUgraphNode n);

// Returns "a,b,c/a>b,b>c": the labels of the nodes and of the edges, each list sorted. Equal labels
// are numbered in the driver's order; an edge with data ends in "!type:port".
std::string describe(CUgraph gr);

// Begins a capture.
void begin(CUstream s, CUstreamCaptureMode m = GLOBAL);
CUgraph end_ok(CUstream s);
std::string capture_status(CUstream s);
size_t capture_deps(CUstream s);
cuuint64_t capture_id(CUstream s);
CUgraph capture_graph(CUstream s);
std::string capture_dep_labels(CUstream s);

// Ends a capture, records the result and the graph, and destroys it.
void rec_end(Rec& r, const std::string& key, CUstream s);

}  // namespace weir::conformance
