// SPDX-License-Identifier: Apache-2.0
// tools/weir/graph/node_description.hpp - describes each node in one short line.
#pragma once

#include "graph/driver_label.hpp"

#include <weir/graph/nodes/graph_node.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace weir::tool {

// Returns the kind of a node with this label and DOT shape. Unknown kinds have none.
[[nodiscard]] std::optional<node_kind> kind_of(const driver_label& label, std::string_view shape);

// Descriptions for one drawing. They contain no addresses, so that equal graphs have equal
// drawings.
class node_descriptions {
 public:
  // Stores the memory of an allocation node. Add all before the first description.
  void add_allocation(const driver_label& label);

  // Returns a text such as "fill 400 bytes". Omits what the label does not contain. `event` is the
  // name of the node's event; events without a name are numbered. `parts` is the number of child
  // graphs or bodies.
  [[nodiscard]] std::string describe(std::optional<node_kind> kind, const driver_label& label,
                                     std::string_view event, std::size_t parts);

 private:
  [[nodiscard]] std::string event_text(const driver_label& label, std::string_view name);
  [[nodiscard]] std::string free_text(const driver_label& label) const;

  std::map<std::string, std::size_t, std::less<>> events_;  // numbers of events without a name
  std::map<std::uint64_t, std::uint64_t> allocated_;        // size in bytes by address
};

// Returns a text such as "if not 0" or "case 2" for a body of a conditional node with this label.
// Empty if the label does not contain the type of the node.
[[nodiscard]] std::string body_title(const driver_label& label, std::size_t body);

}  // namespace weir::tool
