// SPDX-License-Identifier: Apache-2.0
// api/graph/drawing/graph_drawing_descriptions.hpp - describes each node in one short line.
#pragma once

#include "driver/abi.hpp"

#include <weir/graph/nodes/graph_node.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <unordered_map>

namespace weir::detail {

// Descriptions for one drawing. Events without a name are numbered within it.
class node_descriptions {
 public:
  // Returns a text such as "fill 400 bytes". Omits what the driver does not report. Describe the
  // dependencies of a node before the node.
  [[nodiscard]] std::string of(graph_node node, node_kind kind);

 private:
  [[nodiscard]] std::string event_text(abi::CUevent event);

  std::unordered_map<abi::CUevent, std::size_t> events_;  // numbers of events without a name
  std::map<abi::CUdeviceptr, std::size_t> allocated_;     // size in bytes by address
};

// Returns a text such as "if not 0" or "case 2". `type` is the driver's number.
[[nodiscard]] std::string body_title(unsigned type, std::size_t body);

// Returns a text such as "512 bytes", "2 MiB" or "31.4 MiB".
[[nodiscard]] std::string bytes_text(unsigned long long bytes);

}  // namespace weir::detail
