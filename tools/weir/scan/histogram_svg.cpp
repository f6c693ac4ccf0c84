// SPDX-License-Identifier: Apache-2.0
// tools/weir/scan/histogram_svg.cpp - draws the bars, the scale and the labels.
#include "scan/histogram_svg.hpp"

#include "scan/scale.hpp"
#include "xml_text.hpp"

#include <fmt/format.h>

#include <numeric>

namespace weir::tool::scan {
namespace {

constexpr double width = 760;
constexpr double height = 304;
constexpr double left = 70;
constexpr double top = 56;
constexpr double bottom = 256;
constexpr double bar = 2.625;  // the width of each of the 256 bars
constexpr double right = left + 256 * bar;

constexpr std::string_view style = R"(  <style>
    .ground { fill: #ffffff; }
    .title { fill: #1d2b36; font-size: 14px; font-weight: bold; }
    .name { fill: #4a5863; }
    .band { fill: #f1f4f6; }
    .grid { stroke: #d5dbe0; }
    .bar { fill: #2f6f9f; }
    .bar:hover { fill: #d98a3d; }
    @media (prefers-color-scheme: dark) {
      .ground { fill: #14191e; }
      .title { fill: #e8edf1; }
      .name { fill: #a9b5bf; }
      .band { fill: #1e262d; }
      .grid { stroke: #37424b; }
      .bar { fill: #6fa8c9; }
    }
  </style>
)";

double y_of(double share) { return bottom - height_of(share) * (bottom - top); }
double x_of(unsigned byte) { return left + byte * bar; }

std::string text_at(double x, double y, std::string_view anchor, std::string_view text) {
  return fmt::format("  <text class=\"name\" x=\"{:g}\" y=\"{:g}\" text-anchor=\"{}\">{}</text>\n",
                     x, y, anchor, text);
}

// The background band and its label: the range of printable ASCII characters.
std::string text_band() {
  const double x = x_of(0x20);
  const double end = x_of(0x7f);
  return fmt::format(
             "  <rect class=\"band\" x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\"/>\n", x,
             top, end - x, bottom - top) +
         text_at((x + end) / 2, top + 16, "middle", "ASCII text");
}

std::string scale() {
  std::string text;
  for (const scale_mark& mark : scale_marks) {
    const double y = y_of(mark.share);
    text +=
        fmt::format("  <line class=\"grid\" x1=\"{:g}\" y1=\"{:g}\" x2=\"{:g}\" y2=\"{:g}\"/>\n",
                    left, y, right, y);
    text += text_at(left - 8, y + 4, "end", mark.name);
  }
  for (unsigned byte = 0; byte < 256; byte += 16) {
    text += text_at(x_of(byte) + bar / 2, bottom + 18, "middle", fmt::format("{:02x}", byte));
  }
  return text + text_at((left + right) / 2, bottom + 38, "middle",
                        "byte, and its share of all; logarithmic");
}

std::string bar_of(unsigned byte, double share) {
  const double y = std::min(y_of(share), bottom - 1);  // every byte that occurs is visible
  return fmt::format(
      "  <rect class=\"bar\" x=\"{:g}\" y=\"{:.2f}\" width=\"{:g}\" "
      "height=\"{:.2f}\"><title>{:02x}: {:.4f} "
      "%</title></rect>\n",
      x_of(byte), y, bar, bottom - y, byte, share * 100);
}

}  // namespace

std::string histogram_svg(const findings& found, std::string_view title) {
  const auto all = static_cast<double>(
      std::accumulate(found.counts.begin(), found.counts.end(), std::uint64_t{0}));
  const std::string name = xml_text(title);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:g} {:g}\" font-family=\"DejaVu "
      "Sans, Verdana, "
      "sans-serif\" font-size=\"11\" role=\"img\" aria-label=\"How often each byte comes in "
      "{}\">\n",
      width, height, name);
  svg += style;
  svg += fmt::format("  <rect class=\"ground\" width=\"{:g}\" height=\"{:g}\"/>\n", width, height);
  svg += fmt::format("  <text class=\"title\" x=\"{:g}\" y=\"24\">{}</text>\n", left, name);
  svg += text_at(left, 44, "start",
                 fmt::format("{:.0f} bytes, CRC-32 {:08x}, {:.4f} bits a byte", all, found.crc,
                             entropy_of(found.counts)));
  svg += text_band() + scale();
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (found.counts[byte] != 0) svg += bar_of(byte, static_cast<double>(found.counts[byte]) / all);
  }
  return svg + "</svg>\n";
}

}  // namespace weir::tool::scan
