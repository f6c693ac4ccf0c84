// SPDX-License-Identifier: Apache-2.0
// tools/weir/run/seed_list.cpp - parses and formats lists of seeds.
#include "run/seed_list.hpp"

#include "failure.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <system_error>

namespace weir::tool::run {
namespace {

struct seed_range {
  std::uint64_t first;
  std::uint64_t last;
};

std::optional<std::uint64_t> parse_seed(std::string_view text) {
  std::uint64_t seed = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
  return seed;
}

std::optional<seed_range> parse_range(std::string_view text) {
  const std::size_t dots = text.find("..");
  const std::optional<std::uint64_t> first = parse_seed(text.substr(0, dots));
  const std::optional<std::uint64_t> last =
      dots == std::string_view::npos ? first : parse_seed(text.substr(dots + 2));
  if (!first || !last || *last < *first) return std::nullopt;
  return seed_range{*first, *last};
}

}  // namespace

std::vector<std::uint64_t> parse_seeds(std::string_view text) {
  std::vector<std::uint64_t> seeds;
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::optional<seed_range> range = parse_range(rest.substr(0, comma));
    if (!range)
      throw failure{fmt::format("'{}' is not a list of numbers, such as 1..32 or 3,7..9", text)};
    if (range->last - range->first >= max_seeds - seeds.size())
      throw failure{fmt::format("'{}' has more than {} numbers", text, max_seeds)};
    for (std::uint64_t seed = range->first; seed != range->last; ++seed) seeds.push_back(seed);
    seeds.push_back(range->last);
    if (comma == std::string_view::npos) return seeds;
    rest.remove_prefix(comma + 1);
  }
}

std::string seeds_text(const std::vector<std::uint64_t>& seeds) {
  std::string text;
  for (std::size_t i = 0; i < seeds.size();) {
    std::size_t last = i;
    while (last + 1 < seeds.size() && seeds[last + 1] == seeds[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text +=
        last - i < 2 ? fmt::format("{}", seeds[i]) : fmt::format("{}..{}", seeds[i], seeds[last]);
    i = last - i < 2 ? i + 1 : last + 1;
  }
  return text;
}

}  // namespace weir::tool::run
