// SPDX-License-Identifier: Apache-2.0
// api/graph/drawing/graph_drawing_html.hpp - escapes any text for Graphviz labels.
#pragma once

#include <string>
#include <string_view>

namespace weir::detail {

// Escapes a text for an HTML-like label. Shortens a long text in the middle. Replaces invalid UTF-8
// and control characters by U+FFFD. Keeps spaces.
[[nodiscard]] std::string html_of(std::string_view text);

}  // namespace weir::detail
