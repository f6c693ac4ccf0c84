// SPDX-License-Identifier: Apache-2.0
// tools/weir/graph/html_label.hpp - the colours and the HTML-like labels of boxes.
#pragma once

#include <weir/graph/nodes/graph_node.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace weir::tool {

inline constexpr std::string_view black = "#000000";
inline constexpr std::string_view white = "#ffffff";
inline constexpr std::string_view grey = "#f2f2f2";

struct kind_style {
  std::string_view fill;
  std::string_view text = black;
};
// A node of an unknown kind is white.
[[nodiscard]] kind_style style_of(std::optional<node_kind> kind) noexcept;

// Escapes a text for an HTML-like label. Shortens a long text in the middle. Replaces invalid UTF-8
// and control characters by U+FFFD. Keeps spaces.
[[nodiscard]] std::string html_text(std::string_view text);

// Returns a label with the tag, the description and the call site. Empty strings are omitted.
[[nodiscard]] std::string html_label(std::string_view tag, std::string_view description,
                                     std::string_view site);

// Return a cell and a table of rows of cells in HTML-like syntax. `html` and `rows` are already
// escaped; small_html() escapes its text.
[[nodiscard]] std::string html_cell(std::optional<node_kind> kind, std::string_view html);
[[nodiscard]] std::string html_table(std::string_view rows);
[[nodiscard]] std::string small_html(std::string_view text);

}  // namespace weir::tool
