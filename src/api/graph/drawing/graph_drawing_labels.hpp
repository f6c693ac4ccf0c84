// api/graph/drawing/graph_drawing_labels.hpp - what the boxes of a drawing look like: their
// colours, and their labels in Graphviz's HTML.
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

// The tag, what it does, the line that added it.
[[nodiscard]] std::string label(std::string_view tag, std::string_view what, std::string_view site);

// A table of rows of cells, and small text. Texts in cells and rows are HTML already.
[[nodiscard]] std::string cell(node_kind kind, std::string_view html);
[[nodiscard]] std::string table(std::string_view rows);
[[nodiscard]] std::string small(std::string_view text);

}  // namespace weir::detail
