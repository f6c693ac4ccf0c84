// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_frontier.cpp - reads and changes the dependencies of capturing streams.
#include <weir/capture/capture_frontier.hpp>
#include <weir/core/to_string.hpp>

#include "api/capture/capture_registry.hpp"
#include "api/capture/driver_frontier.hpp"
#include "api/graph/driver_edges.hpp"
#include "api/graph/node_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace weir {

using detail::throw_error;

namespace {

constexpr const char* update_call = "cuStreamUpdateCaptureDependencies";

bool is_known_kind(dependency_update how) noexcept {
  return how == dependency_update::add || how == dependency_update::set;
}

}  // namespace

namespace detail {

std::vector<abi::CUgraphNode> nodes_of(abi::CUgraph graph, call_site at) {
  constexpr const char* call = "cuGraphGetNodes";
  std::size_t count = 0;
  check(driver().cuGraphGetNodes(graph, nullptr, &count), call, subject::graph(graph), at);
  std::vector<abi::CUgraphNode> nodes(count);
  if (count != 0)
    check(driver().cuGraphGetNodes(graph, nodes.data(), &count), call, subject::graph(graph), at);
  nodes.resize(count);
  return nodes;
}

driver_frontier::driver_frontier(frontier_list nodes, abi::CUgraph graph, const char* call,
                                 call_site at) {
  std::vector<abi::CUgraphNode> all;
  bool has_data = false;
  nodes_.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto [node, data] = nodes[i];
    require_node_of(node, graph, call, at);
    if (node.graph().get() == nullptr) {  // a driver may crash on a handle that is not a node
      if (all.empty()) all = nodes_of(graph, at);
      if (std::ranges::find(all, node.get()) == all.end()) {
        throw_error(
            errc::invalid_value, call, to_string(graph_ref{graph}),
            to_string(node) +
                " is not a node of the captured graph; pass nodes of the graph that the stream "
                "captures into",
            at);
      }
    }
    nodes_.push_back(node.get());
    has_data |= data != edge_data{};
  }
  if (!has_data) return;
  data_.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const edge_data data = nodes[i].data;
    data_.push_back({data.from_port, data.to_port, data.type, {}});
  }
}

}  // namespace detail

void update_capture_dependencies(stream_ref stream, frontier_list nodes, dependency_update how,
                                 call_site at) {
  const detail::stream_capture_info info =
      detail::query_capture(detail::require_open(stream, update_call, at), at);
  if (info.status == abi::CU_STREAM_CAPTURE_STATUS_INVALIDATED) {
    throw_error(errc::stream_capture_invalidated, update_call, stream, at);
  }
  if (info.status == abi::CU_STREAM_CAPTURE_STATUS_NONE) {
    throw_error(errc::illegal_state, update_call, to_string(stream),
                "the stream is not capturing; begin a capture before setting its dependencies", at);
  }
  if (!is_known_kind(how)) {
    throw_error(errc::invalid_value, update_call, to_string(stream),
                "the update is not a value of weir::dependency_update; use add or set", at);
  }
  detail::driver_frontier after{nodes, info.graph, update_call, at};
  const auto flags = static_cast<unsigned>(how);
  const abi::CUresult answer =
      detail::set_frontier(stream.get(), after.nodes(), after.data(), after.size(), flags);
  if (answer == abi::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER) {
    throw_error(errc::call_requires_newer_driver, update_call, to_string(stream),
                "edge data other than 0 needs a driver for CUDA 12.3 or later; install a newer "
                "driver, or use plain edges",
                at);
  }
  if (answer == abi::CUDA_ERROR_INVALID_VALUE && after.data() != nullptr) {
    throw_error(errc::invalid_value, update_call, to_string(stream),
                "edge data other than 0 is valid only between kernels, with ports and types that "
                "both kernels support; use a plain edge",
                at);
  }
  detail::check(answer, update_call, stream, at);
}

}  // namespace weir
