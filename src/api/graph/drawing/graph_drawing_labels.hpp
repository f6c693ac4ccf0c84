// SPDX-License-Identifier: Apache-2.0
// api/graph/drawing/graph_drawing_labels.hpp - the colours and the HTML-like labels of boxes.
#pragma once

#include <weir/graph/nodes/graph_node.hpp>

#include <string>
#include <string_view>

namespace weir::detail {

inline constexpr std::string_view black = "#000000";
inline constexpr std::string_view white = "#ffffff";
inline constexpr std::string_view grey = "#f2f2f2";

struct kind_style {
  std::string_view fill;
  std::string_view text = black;
};
[[nodiscard]] kind_style style_of(node_kind kind) noexcept;

// Returns a label with the tag, the description and the call site. Empty strings are omitted.
[[nodiscard]] std::string label(std::string_view tag, std::string_view what, std::string_view site);

// Return a cell and a table of rows of cells in HTML-like syntax. `html` and `rows` are already
// escaped; small() escapes its text.
[[nodiscard]] std::string cell(node_kind kind, std::string_view html);
[[nodiscard]] std::string table(std::string_view rows);
[[nodiscard]] std::string small(std::string_view text);

}  // namespace weir::detail
