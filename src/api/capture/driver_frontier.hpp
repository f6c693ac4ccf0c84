// api/capture/driver_frontier.hpp - nodes that captures come after, as the driver takes them.
#pragma once

#include "driver/abi.hpp"

#include <weir/capture/capture_frontier.hpp>
#include <weir/core/call_site.hpp>

#include <cstddef>
#include <vector>

namespace weir::detail {

class driver_frontier {
 public:
  driver_frontier() noexcept = default;
  // Throws what names the first that is no node of that graph.
  driver_frontier(frontier_list nodes, abi::CUgraph graph, const char* call, call_site at);

  [[nodiscard]] abi::CUgraphNode* nodes() noexcept { return nodes_.data(); }
  // Null where all of it is zero, which is how drivers without such data take it.
  [[nodiscard]] const abi::CUgraphEdgeData* data() const noexcept {
    return data_.empty() ? nullptr : data_.data();
  }
  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }

 private:
  std::vector<abi::CUgraphNode> nodes_;
  std::vector<abi::CUgraphEdgeData> data_;
};

// All nodes of a graph, in the driver's order.
[[nodiscard]] std::vector<abi::CUgraphNode> nodes_of(abi::CUgraph graph, call_site at);

}  // namespace weir::detail
