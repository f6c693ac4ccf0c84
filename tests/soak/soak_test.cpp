// SPDX-License-Identifier: Apache-2.0
// Random work on many streams: nothing is lost, nothing runs twice. bench/soak.cpp runs a hundred
// times as much.
#include "soak/soak.hpp"

#include <gtest/gtest.h>

namespace {

TEST(Soak, ALongRunLosesNoResources) {
  soak::options options;
  options.operations = 100'000;
  int rests = 0;
  const soak::result counted = soak::run(options, [&](int) { ++rests; });
  EXPECT_EQ(rests, 10);
  EXPECT_GT(counted.checks, 10u * 32u);
  EXPECT_EQ(counted.lost, 0u);
}

}  // namespace
