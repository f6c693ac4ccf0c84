// SPDX-License-Identifier: Apache-2.0
// tools/weir/graph/html_label.cpp - formats and escapes the texts of boxes for Graphviz.
#include "graph/html_label.hpp"

#include "xml_text.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <vector>

namespace weir::tool {
namespace {

constexpr std::size_t max_length = 64;  // characters
constexpr std::size_t tail_length = 24;

}  // namespace

// The palette of Okabe and Ito, which is distinguishable with any kind of colour vision.
kind_style style_of(std::optional<node_kind> kind) noexcept {
  if (!kind) return {white};
  switch (*kind) {
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

std::string html_text(std::string_view text) {
  std::vector<std::string> characters;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const bool is_control = length == 1 && (text[0] < 0x20 || text[0] == 0x7f);
    if (text[0] == '\\')
      characters.emplace_back("&#92;");  // Graphviz replaces \N and \G, in HTML-like text too
    else
      characters.push_back(is_control ? "\xEF\xBF\xBD"
                                      : xml_text(text.substr(0, length == 0 ? 1 : length)));
    text.remove_prefix(length == 0 ? 1 : length);
  }
  // Graphviz removes spaces at the ends and next to other spaces.
  for (std::size_t i = 0; i < characters.size(); ++i) {
    if (characters[i] != " ") continue;
    if (i == 0 || i + 1 == characters.size() || characters[i + 1] == " ") characters[i] = "&#160;";
  }
  std::string html;
  for (std::size_t i = 0; i < characters.size(); ++i) {
    if (characters.size() > max_length && i == max_length - tail_length) {
      html += "...";
      i = characters.size() - tail_length;
    }
    html += characters[i];
  }
  return html;
}

std::string html_label(std::string_view tag, std::string_view description, std::string_view site) {
  std::string all = tag.empty() ? "" : fmt::format("<B>{}</B><BR/>", html_text(tag));
  all += html_text(description);
  return site.empty() ? all : all + "<BR/>" + small_html(site);
}

std::string html_cell(std::optional<node_kind> kind, std::string_view html) {
  const kind_style style = style_of(kind);
  if (style.text == black) return fmt::format("<TD BGCOLOR=\"{}\">{}</TD>", style.fill, html);
  return fmt::format("<TD BGCOLOR=\"{}\"><FONT COLOR=\"{}\">{}</FONT></TD>", style.fill, style.text,
                     html);
}

std::string html_table(std::string_view rows) {
  return fmt::format(
      R"(<TABLE BORDER="0" CELLSPACING="3" CELLBORDER="0" CELLPADDING="2">{}</TABLE>)", rows);
}

std::string small_html(std::string_view text) {
  return fmt::format("<FONT POINT-SIZE=\"8\">{}</FONT>", html_text(text));
}

}  // namespace weir::tool
