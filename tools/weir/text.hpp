// text.hpp - quantities as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace weir::tool {

// "512 bytes", "2 MiB", "31.4 MiB".
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);

// "1 chunk", "17 chunks".
[[nodiscard]] std::string plural(std::uint64_t count, const char* what);

// 10^9 bytes a second.
[[nodiscard]] constexpr double gb_per_s(std::uint64_t bytes, double seconds) {
  return static_cast<double>(bytes) / seconds / 1e9;
}

}  // namespace weir::tool
