// scan/findings.hpp - what a scan finds out about bytes.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace weir::tool::scan {

// How often each byte comes.
using histogram = std::array<std::uint64_t, 256>;

struct findings {
  std::uint32_t crc = 0;  // zlib's CRC-32
  histogram counts{};
  friend bool operator==(const findings&, const findings&) = default;
};

// Shannon's entropy of the distribution: the bits that a byte of it is worth, 0 to 8.
[[nodiscard]] double entropy_of(const histogram& counts);

void add(histogram& sum, std::span<const std::uint32_t, 256> counts) noexcept;
void add(histogram& sum, const histogram& counts) noexcept;

}  // namespace weir::tool::scan
