// SPDX-License-Identifier: Apache-2.0
// peers/flow_graph.cpp - graphs of oneTBB with the cheapest nodes: messages carry nothing but
// "continue".
#include "peers/flow_graph.hpp"

#include <tbb/flow_graph.h>

#include <atomic>
#include <deque>

namespace bench {
namespace {

using tbb::flow::continue_msg;
using tbb::flow::continue_node;

class tbb_graph : public flow_graph {
 public:
  template <class Body>
  tbb_graph(graph_shape shape, std::size_t nodes, const Body& body) {
    for (std::size_t i = 0; i < nodes; ++i) {
      nodes_.emplace_back(graph_, body);
      if (shape == graph_shape::wide) {
        tbb::flow::make_edge(start_, nodes_.back());
      } else if (i != 0) {
        tbb::flow::make_edge(nodes_[i - 1], nodes_.back());
      }
    }
    if (shape == graph_shape::line) tbb::flow::make_edge(start_, nodes_.front());
  }

  void run() override {
    start_.try_put({});
    graph_.wait_for_all();
  }

 private:
  tbb::flow::graph graph_;
  tbb::flow::broadcast_node<continue_msg> start_{graph_};
  std::deque<continue_node<continue_msg>> nodes_;
};

}  // namespace
}  // namespace bench

extern "C" [[gnu::visibility("default")]] bench::flow_graph* weir_bench_make_flow_graph(
    bench::graph_shape shape, std::size_t nodes, void (*function)(void*), unsigned* word) {
  if (function != nullptr) {
    return new bench::tbb_graph{shape, nodes, [=](const bench::continue_msg&) { function(word); }};
  }
  return new bench::tbb_graph{shape, nodes, [=](const bench::continue_msg&) {
                                std::atomic_ref{*word}.store(1, std::memory_order_relaxed);
                              }};
}
