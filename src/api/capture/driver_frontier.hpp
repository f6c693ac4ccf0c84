// SPDX-License-Identifier: Apache-2.0
// api/capture/driver_frontier.hpp - a capture frontier (the nodes that the next operation depends
// on) as arrays for the driver.
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
  // Throws an error that names the first entry that is not a node of `graph`.
  driver_frontier(frontier_list nodes, abi::CUgraph graph, const char* call, call_site at);

  [[nodiscard]] abi::CUgraphNode* nodes() noexcept { return nodes_.data(); }
  // Returns the edge data, one per node, or null if all edge data are zero. Drivers without support
  // for edge data accept only null.
  [[nodiscard]] const abi::CUgraphEdgeData* data() const noexcept {
    return data_.empty() ? nullptr : data_.data();
  }
  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }

 private:
  std::vector<abi::CUgraphNode> nodes_;
  std::vector<abi::CUgraphEdgeData> data_;
};

}  // namespace weir::detail
