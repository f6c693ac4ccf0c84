// SPDX-License-Identifier: Apache-2.0
// api/capture/driver_frontier.cpp - a capture frontier as arrays for the driver.
#include "api/capture/driver_frontier.hpp"

#include "api/graph/node_calls.hpp"

#include <weir/core/to_string.hpp>

#include <algorithm>

namespace weir::detail {
namespace {

// Throws unless the node is in `all`, the nodes of the graph. The check is necessary because a
// driver may crash if it receives a handle that is not a node.
void require_one_of(const std::vector<CUgraphNode>& all, graph_node node, CUgraph graph,
                    const char* call, call_site at) {
  if (std::ranges::find(all, node.get()) != all.end()) return;
  throw_error(errc::invalid_value, call, to_string(graph_ref{graph}),
              to_string(node) +
                  " is not a node of the captured graph; pass nodes of the graph that the stream "
                  "captures into",
              at);
}

}  // namespace

driver_frontier::driver_frontier(frontier_list nodes, CUgraph graph, const char* call,
                                 call_site at) {
  std::vector<CUgraphNode> all;
  bool has_data = false;
  nodes_.reserve(nodes.size());
  data_.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto [node, data] = nodes[i];
    require_node_of(node, graph, call, at);
    if (node.graph().get() == nullptr) {  // require_node_of() accepts such a node
      if (all.empty()) all = nodes_of(graph, at);
      require_one_of(all, node, graph, call, at);
    }
    nodes_.push_back(node.get());
    data_.push_back({data.from_port, data.to_port, data.type, {}});
    has_data |= data != edge_data{};
  }
  if (!has_data) data_.clear();
}

}  // namespace weir::detail
