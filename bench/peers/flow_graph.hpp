// peers/flow_graph.hpp - the seam between weir_bench and oneTBB's flow graph, which is a library of
// its own: a program that needs oneTBB to start would not run where it is missing.
#pragma once

#include <cstddef>

namespace bench {

enum class graph_shape { line, wide };  // one node after the other, or all beside each other

// A graph that is built, to be run again and again.
class flow_graph {
 public:
  flow_graph() = default;
  flow_graph(const flow_graph&) = delete;
  flow_graph& operator=(const flow_graph&) = delete;
  virtual ~flow_graph() = default;

  virtual void run() = 0;  // returns when all nodes have run
};

// Nodes that call the function, or without one write the word.
using make_flow_graph = flow_graph*(graph_shape shape, std::size_t nodes, void (*function)(void*),
                                    unsigned* word);
inline constexpr const char* make_flow_graph_name = "weir_bench_make_flow_graph";

}  // namespace bench
