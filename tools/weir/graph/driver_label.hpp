// SPDX-License-Identifier: Apache-2.0
// tools/weir/graph/driver_label.hpp - the label of a node in a driver's DOT description.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::tool {

struct driver_label {
  std::vector<std::string> words;                           // the lines and the fields, in order
  std::vector<std::pair<std::string, std::string>> values;  // by the names of fields

  [[nodiscard]] bool contains(std::string_view word) const;
  // Returns the last value with this name; empty if there is none.
  [[nodiscard]] std::string_view value(std::string_view name) const;
};

// Reads a label such as "1\nMEMSET\n(0,400)". Values come from lines such as "event: 0x10".
[[nodiscard]] driver_label read_plain_label(std::string_view label);

// Reads a label in Graphviz's record syntax, such as "{MEMSET | {{ID | value} | {1 | 0}}}". Values
// come from two groups of equal size, the first with their names, and from groups of a name and a
// value. A name may have several values.
[[nodiscard]] driver_label read_record_label(std::string_view label);

}  // namespace weir::tool
