// SPDX-License-Identifier: Apache-2.0
// tools/weir/scan/findings.hpp - the results of a scan.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace weir::tool::scan {

// The number of occurrences of each byte value.
using histogram = std::array<std::uint64_t, 256>;

struct findings {
  std::uint32_t crc = 0;  // as zlib computes it
  histogram counts{};
  friend bool operator==(const findings&, const findings&) = default;
};

// The Shannon entropy of the distribution in bits per byte, 0 to 8.
[[nodiscard]] double entropy_of(const histogram& counts);

// Adds each count to the count of its byte value in `sum`.
void add(histogram& sum, std::span<const std::uint32_t, 256> counts) noexcept;
// Adds each count to the count of its byte value in `sum`.
void add(histogram& sum, const histogram& counts) noexcept;

}  // namespace weir::tool::scan
