// SPDX-License-Identifier: Apache-2.0
// api/graph/drawing/graph_drawing_html.cpp - escapes any text for Graphviz labels.
#include "api/graph/drawing/graph_drawing_html.hpp"

#include <cstddef>
#include <vector>

namespace weir::detail {
namespace {

constexpr std::size_t max_length = 64;  // characters
constexpr std::size_t tail_length = 24;
constexpr std::string_view replacement_character = "\xEF\xBF\xBD";  // U+FFFD

// Returns the size in bytes of the first character, or 0 if it is not valid UTF-8.
std::size_t character_size(std::string_view text) noexcept {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  struct utf8_form {
    unsigned char first_from, first_to, second_from, second_to;
    std::size_t size;
  };
  // Excludes overlong forms, surrogates and values above U+10FFFF.
  static constexpr utf8_form forms[] = {
      {0x20, 0x7E, 0, 0, 1},       {0xC2, 0xC2, 0xA0, 0xBF, 2}, {0xC3, 0xDF, 0x80, 0xBF, 2},
      {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3},
      {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4},
      {0xF4, 0xF4, 0x80, 0x8F, 4},
  };
  for (const utf8_form& f : forms) {
    if (at(0) < f.first_from || at(0) > f.first_to) continue;
    if (f.size == 1) return 1;
    if (text.size() < f.size || at(1) < f.second_from || at(1) > f.second_to) return 0;
    for (std::size_t i = 2; i < f.size; ++i) {
      if ((at(i) & 0xC0U) != 0x80U) return 0;
    }
    return f.size;
  }
  return 0;
}

std::string_view entity_of(std::string_view character) noexcept {
  if (character == "&") return "&amp;";
  if (character == "<") return "&lt;";
  if (character == ">") return "&gt;";
  if (character == "\"") return "&quot;";
  return character;
}

}  // namespace

std::string html_of(std::string_view text) {
  std::vector<std::string_view> characters;
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    characters.push_back(size == 0 ? replacement_character : entity_of(text.substr(0, size)));
    text.remove_prefix(size == 0 ? 1 : size);
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

}  // namespace weir::detail
