// api/graph/drawing/graph_drawing_html.hpp - any bytes as a text that Graphviz takes.
#pragma once

#include <string>
#include <string_view>

namespace weir::detail {

// For labels that are written like HTML. A long text loses its middle; what is no UTF-8, and
// control characters, become a sign that stands for them; a text of spaces keeps them.
[[nodiscard]] std::string html_of(std::string_view text);

}  // namespace weir::detail
