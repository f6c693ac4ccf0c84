// SPDX-License-Identifier: Apache-2.0
// host_functions_test.cpp - the code that docs/guide/host-functions.md shows.
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <utility>
#include <weir/weir.hpp>

namespace {

TEST(HostFunctionsPage, ThreeKindsOfHostFunctionsRun) {
  const weir::device gpu;
  const weir::stream s{gpu};
  int sum = 0;
  auto owned = std::make_unique<int>(3);
  weir::errc result = weir::errc::unknown;
  // [host-three]
  weir::launch_host(s, [&] { ++sum; });
  weir::launch_host_once(s, [&sum, owned = std::move(owned)] { sum += *owned; });
  weir::add_callback(s, [&](weir::errc status) { result = status; });
  s.sync();
  // [/host-three]
  EXPECT_EQ(sum, 4);
  EXPECT_EQ(result, weir::errc::success);
}

TEST(HostFunctionsPage, ASyncThrowsTheExceptionOfAHostFunction) {
  const weir::device gpu;
  const weir::stream s{gpu};
  bool caught = false;
  // [host-exception]
  weir::launch_host(s, [] { throw std::runtime_error{"no more numbers"}; });
  try {
    s.sync();
  } catch (const std::runtime_error&) {
    caught = true;
  }
  // [/host-exception]
  EXPECT_TRUE(caught);
}

}  // namespace
