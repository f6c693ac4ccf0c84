// SPDX-License-Identifier: Apache-2.0
// tools/weir/scan/findings.cpp - sums and entropy of byte counts.
#include "scan/findings.hpp"

#include <cmath>
#include <numeric>

namespace weir::tool::scan {

double entropy_of(const histogram& counts) {
  const auto all =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  double bits = 0;
  for (const std::uint64_t count : counts) {
    const double share = static_cast<double>(count) / all;
    if (count != 0) bits -= share * std::log2(share);
  }
  return bits;
}

void add(histogram& sum, std::span<const std::uint32_t, 256> counts) noexcept {
  for (std::size_t b = 0; b < counts.size(); ++b) sum[b] += counts[b];
}

void add(histogram& sum, const histogram& counts) noexcept {
  for (std::size_t b = 0; b < counts.size(); ++b) sum[b] += counts[b];
}

}  // namespace weir::tool::scan
