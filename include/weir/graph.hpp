// SPDX-License-Identifier: Apache-2.0
// weir/graph.hpp - graphs, their nodes and their executables: includes all headers in weir/graph/,
// and weir::error.
#pragma once

#include <weir/core/error.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/graph_cache.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/graph_nodes.hpp>
