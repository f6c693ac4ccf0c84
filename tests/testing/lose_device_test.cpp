// SPDX-License-Identifier: Apache-2.0
// lose_device makes the embedded devices fail as a GPU does.
#include <weir/testing/lose_device.hpp>

#include "support/errors.hpp"
#include "support/fresh_process.hpp"

#include <weir/memory/buffer.hpp>
#include <weir/memory/fill.hpp>
#include <weir/stream/stream.hpp>

#include <gtest/gtest.h>

namespace {

using namespace weir;
using test::result_of;

TEST(LoseDevice, EveryCallFailsAfterwards) {
  if (!device{}.is_embedded()) GTEST_SKIP() << "a GPU fails only by itself";
  test::in_a_fresh_process([] {
    const stream s{device{}};
    buffer<int> x{s, 100};
    s.sync();
    weir::testing::lose_device();
    return WEIR_HOLDS(result_of([&] { s.sync(); }) == errc::illegal_address) &&
           WEIR_HOLDS(result_of([&] { fill(s, x, 1); }) == errc::illegal_address);
  });
}

TEST(LoseDevice, TheCodeIsTheGivenOne) {
  if (!device{}.is_embedded()) GTEST_SKIP() << "a GPU fails only by itself";
  test::in_a_fresh_process([] {
    const stream s{device{}};
    weir::testing::lose_device(errc::launch_failed);
    return WEIR_HOLDS(result_of([&] { s.sync(); }) == errc::launch_failed);
  });
}

TEST(LoseDevice, AnErrorThatLosesNoContextIsRefused) {
  EXPECT_EQ(result_of([] { weir::testing::lose_device(errc::out_of_memory); }),
            errc::invalid_value);
}

TEST(LoseDevice, AGpuIsNotLost) {
  if (device{}.is_embedded()) GTEST_SKIP() << "needs a GPU";
  EXPECT_EQ(result_of([] { weir::testing::lose_device(); }), errc::not_supported);
}

}  // namespace
