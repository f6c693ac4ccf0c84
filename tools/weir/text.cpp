// SPDX-License-Identifier: Apache-2.0
// tools/weir/text.cpp - formats bytes with the unit that gives a short number.
#include "text.hpp"

#include <fmt/format.h>

#include <array>

namespace weir::tool {

std::string bytes_text(std::uint64_t bytes) {
  if (bytes == 1) return "1 byte";
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  constexpr std::array units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  const bool whole = value == static_cast<double>(static_cast<std::uint64_t>(value));
  return fmt::format("{:.{}f} {}", value, whole ? 0 : 1, units[unit]);
}

std::string plural(std::uint64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace weir::tool
