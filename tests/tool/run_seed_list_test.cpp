// SPDX-License-Identifier: Apache-2.0
// Lists of seeds: their text and their numbers.
#include "run/seed_list.hpp"

#include "failure.hpp"

#include <gtest/gtest.h>

namespace {

using namespace weir::tool::run;
using seeds = std::vector<std::uint64_t>;

TEST(SeedList, RangesAndNumbersAreParsed) {
  EXPECT_EQ(parse_seeds("7"), seeds{7});
  EXPECT_EQ(parse_seeds("1..4"), (seeds{1, 2, 3, 4}));
  EXPECT_EQ(parse_seeds("9,1..3,9"), (seeds{9, 1, 2, 3, 9}));
  EXPECT_EQ(parse_seeds("18446744073709551615"), seeds{~std::uint64_t{0}});
}

TEST(SeedList, OtherTextsAreRefused) {
  for (const char* const text : {"", "x", "1..", "..3", "3..1", "1,", "1-3", " 1", "1..2000000",
                                 "0..18446744073709551615", "18446744073709551616"})
    EXPECT_THROW(static_cast<void>(parse_seeds(text)), weir::tool::failure) << text;
}

TEST(SeedList, ConsecutiveNumbersAreARange) {
  EXPECT_EQ(seeds_text({1, 2, 3, 4, 9, 11, 12, 20, 21, 22}), "1..4,9,11,12,20..22");
  EXPECT_EQ(seeds_text({5}), "5");
  EXPECT_EQ(seeds_text({}), "");
}

}  // namespace
