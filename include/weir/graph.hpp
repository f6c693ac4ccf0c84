// weir/graph.hpp - graphs, their nodes and their executables: all headers in weir/graph/.
#pragma once

#include <weir/graph/graph.hpp>
#include <weir/graph/graph_cache.hpp>
#include <weir/graph/graph_drawing.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/graph_nodes.hpp>
