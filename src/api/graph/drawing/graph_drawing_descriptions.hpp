// api/graph/drawing/graph_drawing_descriptions.hpp - what nodes of graphs do, each in one short
// line.
#pragma once

#include "driver/abi.hpp"

#include <weir/graph/nodes/graph_node.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <unordered_map>

namespace weir::detail {

// For one drawing: what has no name gets numbers in it.
class node_descriptions {
 public:
  // "fill 400 bytes". What the driver does not tell is left out. Nodes come after those that they
  // depend on.
  [[nodiscard]] std::string of(graph_node node, node_kind kind);

 private:
  [[nodiscard]] std::string event_text(abi::CUevent event);

  std::unordered_map<abi::CUevent, std::size_t> events_;  // those without a name
  std::map<abi::CUdeviceptr, std::size_t> allocated_;     // so many bytes, from there
};

// "if not 0", "case 2". The type is the driver's number.
[[nodiscard]] std::string body_title(unsigned type, std::size_t body);

// "512 bytes", "2 MiB", "31.4 MiB".
[[nodiscard]] std::string bytes_text(unsigned long long bytes);

}  // namespace weir::detail
