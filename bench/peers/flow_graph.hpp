// SPDX-License-Identifier: Apache-2.0
// peers/flow_graph.hpp - the interface between weir_bench and a library with oneTBB's flow graph.
// It is a separate library, so that weir_bench starts without oneTBB.
#pragma once

#include <cstddef>

namespace bench {

enum class graph_shape { line, wide };  // a chain of nodes, or all in parallel

// A graph that is built, to be run repeatedly.
class flow_graph {
 public:
  flow_graph() = default;
  flow_graph(const flow_graph&) = delete;
  flow_graph& operator=(const flow_graph&) = delete;
  virtual ~flow_graph() = default;

  virtual void run() = 0;  // returns when all nodes have run
};

// Makes nodes that call the function, or without one write the word.
using make_flow_graph = flow_graph*(graph_shape shape, std::size_t nodes, void (*function)(void*),
                                    unsigned* word);
inline constexpr const char* make_flow_graph_name = "weir_bench_make_flow_graph";

}  // namespace bench
