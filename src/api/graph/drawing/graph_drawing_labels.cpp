// SPDX-License-Identifier: Apache-2.0
// api/graph/drawing/graph_drawing_labels.cpp - the colours and the HTML-like labels of boxes.
#include "api/graph/drawing/graph_drawing_labels.hpp"

#include "api/graph/drawing/graph_drawing_html.hpp"

#include <fmt/format.h>

namespace weir::detail {

// The palette of Okabe and Ito, which is distinguishable with any kind of colour vision.
kind_style style_of(node_kind kind) noexcept {
  switch (kind) {
    case node_kind::kernel: return {"#e69f00"};
    case node_kind::copy: return {"#56b4e9"};
    case node_kind::fill: return {"#f0e442"};
    case node_kind::host_function: return {"#009e73", white};
    case node_kind::allocation:
    case node_kind::free: return {"#cc79a7"};
    case node_kind::event_record:
    case node_kind::event_wait: return {"#d55e00", white};
    case node_kind::semaphore_signal:
    case node_kind::semaphore_wait:
    case node_kind::value_batch: return {"#0072b2", white};
    case node_kind::child_graph:
    case node_kind::conditional: return {grey};
    case node_kind::empty: break;
  }
  return {"#bbbbbb"};
}

std::string label(std::string_view tag, std::string_view what, std::string_view site) {
  std::string all = tag.empty() ? "" : fmt::format("<B>{}</B><BR/>", html_of(tag));
  all += html_of(what);
  return site.empty() ? all : all + "<BR/>" + small(site);
}

std::string cell(node_kind kind, std::string_view html) {
  const kind_style style = style_of(kind);
  if (style.text == black) return fmt::format("<TD BGCOLOR=\"{}\">{}</TD>", style.fill, html);
  return fmt::format("<TD BGCOLOR=\"{}\"><FONT COLOR=\"{}\">{}</FONT></TD>", style.fill, style.text,
                     html);
}

std::string table(std::string_view rows) {
  return fmt::format(
      R"(<TABLE BORDER="0" CELLSPACING="3" CELLBORDER="0" CELLPADDING="2">{}</TABLE>)", rows);
}

std::string small(std::string_view text) {
  return fmt::format("<FONT POINT-SIZE=\"8\">{}</FONT>", html_of(text));
}

}  // namespace weir::detail
