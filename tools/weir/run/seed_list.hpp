// SPDX-License-Identifier: Apache-2.0
// tools/weir/run/seed_list.hpp - lists of seeds, such as 1..32 or 3,7..9.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::tool::run {

// The largest number of seeds of a list.
inline constexpr std::uint64_t max_seeds = 1'000'000;

// Returns the seeds of the text in its order. Throws failure if the text is no list, or is too
// long.
[[nodiscard]] std::vector<std::uint64_t> parse_seeds(std::string_view text);

// Returns the text of a list: consecutive seeds as a range. `seeds` is sorted.
[[nodiscard]] std::string seeds_text(const std::vector<std::uint64_t>& seeds);

}  // namespace weir::tool::run
