// SPDX-License-Identifier: Apache-2.0
// tools/weir/scan/histogram_text.cpp - draws columns from partly filled characters.
#include "scan/histogram_text.hpp"

#include "scan/scale.hpp"

#include <fmt/format.h>

#include <array>
#include <numeric>
#include <span>
#include <string_view>

namespace weir::tool::scan {
namespace {

constexpr std::size_t text_columns = 64;
constexpr std::size_t bytes_of_column = 256 / text_columns;
constexpr std::size_t rows_of_mark = 2;  // from one mark of the scale to the next
constexpr std::size_t rows = rows_of_mark * (scale_marks.size() - 1);

// Characters ordered by how much of them is filled, from nothing to everything.
constexpr std::array<std::string_view, 9> blocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 4> ascii{" ", ".", ":", "#"};

struct characters {
  std::span<const std::string_view> fill;
  std::string_view axis;
  std::string_view mark;
  std::string_view corner;
  std::string_view line;
};
constexpr characters of_utf8{blocks, "│", "┤", "└", "─"};
constexpr characters of_ascii{ascii, "|", "+", "+", "-"};

std::array<double, text_columns> heights_of(const histogram& counts) {
  const auto all =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  std::array<double, text_columns> heights{};
  for (std::size_t c = 0; c < text_columns; ++c) {
    double sum = 0;
    for (std::size_t i = 0; i < bytes_of_column; ++i)
      sum += static_cast<double>(counts[bytes_of_column * c + i]);
    heights[c] = height_of(sum / bytes_of_column / all);
  }
  return heights;
}

// The character of a column in a row. Rows are counted from the bottom.
std::string_view filled(double height, std::size_t row, const characters& with) {
  const double part = height * rows - static_cast<double>(row);
  const auto most = static_cast<double>(with.fill.size() - 1);
  // Every byte that occurs is visible.
  const double steps =
      row == 0 && height > 0 ? std::max(1.0, std::round(part * most)) : std::round(part * most);
  return with.fill[static_cast<std::size_t>(std::clamp(steps, 0.0, most))];
}

}  // namespace

std::string histogram_text(const histogram& counts, bool utf8) {
  const characters& with = utf8 ? of_utf8 : of_ascii;
  const std::array<double, text_columns> heights = heights_of(counts);
  std::string text;
  for (std::size_t row = rows; row-- > 0;) {
    const bool marked = (row + 1) % rows_of_mark == 0;
    const std::string_view name = marked ? scale_marks[(rows - 1 - row) / rows_of_mark].name : "";
    std::string line = fmt::format("  {:>8} {}", name, marked ? with.mark : with.axis);
    for (const double height : heights) line += filled(height, row, with);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  text += fmt::format("  {:>8} {}", scale_marks.back().name, with.corner);
  for (std::size_t c = 0; c < text_columns; ++c) text += with.line;
  text += fmt::format("\n  {:>8}  ", "byte");
  for (unsigned byte = 0; byte < 256; byte += 32) text += fmt::format("{:02x}{:6}", byte, "");
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

}  // namespace weir::tool::scan
