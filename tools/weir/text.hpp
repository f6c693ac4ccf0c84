// SPDX-License-Identifier: Apache-2.0
// tools/weir/text.hpp - formats quantities for people.
#pragma once

#include <cstdint>
#include <string>

namespace weir::tool {

// Returns a size with its unit: "512 bytes", "2 MiB", "31.4 MiB".
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);

// Returns a count with the word for it: "1 chunk", "17 chunks".
[[nodiscard]] std::string plural(std::uint64_t count, const char* what);

// Returns the throughput in 10^9 bytes per second.
[[nodiscard]] constexpr double gb_per_s(std::uint64_t bytes, double seconds) {
  return static_cast<double>(bytes) / seconds / 1e9;
}

}  // namespace weir::tool
