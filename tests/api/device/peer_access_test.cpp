// SPDX-License-Identifier: Apache-2.0
// peer_access_test.cpp - access between devices: enabled while an owner exists, and no longer.
#include <weir/core/deferred.hpp>
#include <weir/device/context.hpp>
#include <weir/device/peer_access.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/stream/host_function.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include "api/core/call_restrictions.hpp"
#include "support/device_copy.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/foreign_capture.hpp"

namespace weir {
namespace {

using detail::driver;
using detail::driver_table;
using detail::fault_table;
using test::contents;
using test::result_of;

static_assert(!std::is_copy_constructible_v<peer_access> &&
              std::is_nothrow_move_constructible_v<peer_access>);

TEST(PeerAccessOfOneDevice, ADeviceIsNoPeerOfItself) {
  const device gpu;
  EXPECT_FALSE(gpu.can_access(gpu));
  EXPECT_EQ(result_of([&] { const peer_access access{gpu, gpu}; }), errc::peer_access_unsupported);
  EXPECT_EQ(result_of([&] {
              static_cast<void>(peer_attribute_of(gpu, gpu, peer_attribute::access_supported));
            }),
            errc::invalid_device);
  const device none{device::count()};
  EXPECT_EQ(result_of([&] { const peer_access access{gpu, none}; }), errc::invalid_device);
  EXPECT_EQ(result_of([&] { const peer_access access{none, gpu}; }), errc::invalid_device);
}

class PeerAccess : public ::testing::Test {
 protected:
  void SetUp() override {
    if (device::count() < 2) GTEST_SKIP() << "one device";
    if (!here.can_access(there)) GTEST_SKIP() << "the devices cannot reach each other";
  }

  // Returns true if access is on: enabling it again fails.
  [[nodiscard]] bool is_on() const {
    const context_scope current{here};
    const auto answer = driver().cuCtxEnablePeerAccess(there.primary_context().get(), 0);
    if (answer == abi::CUDA_SUCCESS) {
      EXPECT_EQ(driver().cuCtxDisablePeerAccess(there.primary_context().get()), abi::CUDA_SUCCESS);
    }
    return answer == abi::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  }

  device here{0};
  device there{1};
};

TEST_F(PeerAccess, PeerAccessLastsAsLongAsItsObject) {
  EXPECT_FALSE(is_on());
  {
    const peer_access access{here, there};
    EXPECT_EQ(access.accessing_device(), here);
    EXPECT_EQ(access.accessed_device(), there);
    EXPECT_TRUE(is_on());
  }
  EXPECT_FALSE(is_on());
}

TEST_F(PeerAccess, ADeviceCanUseThePeerMemory) {
  const peer_access access{here, there};
  abi::CUdeviceptr memory = 0;
  {
    const context_scope current{there};
    ASSERT_EQ(driver().cuMemAlloc_v2(&memory, 4096), abi::CUDA_SUCCESS);
  }
  const stream s{here};
  const std::span words{reinterpret_cast<std::uint32_t*>(memory), 1024};
  fill(s, words, 7u);  // a memset by one device in the memory of the other
  buffer<std::uint32_t> x{s, 1024};
  copy(s, words, x);
  EXPECT_EQ(contents(s, x).back(), 7u);
  EXPECT_EQ(driver().cuMemFree_v2(memory), abi::CUDA_SUCCESS);
}

TEST_F(PeerAccess, PeerAccessCoversOneDirection) {
  const fault_table calls;
  const peer_access access{here, there};
  const peer_access back{there, here};
  EXPECT_EQ(calls.count(&driver_table::cuCtxEnablePeerAccess), 2);
}

TEST_F(PeerAccess, PeerAccessEndsWithItsLastObject) {
  std::optional<peer_access> first{std::in_place, here, there};
  std::optional<peer_access> second{std::in_place, here, there};
  first.reset();
  EXPECT_TRUE(is_on());
  second.reset();
  EXPECT_FALSE(is_on());
}

TEST_F(PeerAccess, PeerAccessEnabledThroughTheDriverStaysEnabled) {
  {
    const context_scope current{here};
    ASSERT_EQ(driver().cuCtxEnablePeerAccess(there.primary_context().get(), 0), abi::CUDA_SUCCESS);
  }
  { const peer_access access{here, there}; }
  EXPECT_TRUE(is_on());
  const context_scope current{here};
  EXPECT_EQ(driver().cuCtxDisablePeerAccess(there.primary_context().get()), abi::CUDA_SUCCESS);
}

TEST_F(PeerAccess, APeerAccessCanBeMovedAndClosed) {
  peer_access access{here, there};
  peer_access moved = std::move(access);
  EXPECT_TRUE(access.closed());  // NOLINT(bugprone-use-after-move): what a moved-from one answers
  access.close();
  EXPECT_TRUE(is_on());
  moved.close();
  moved.close();
  EXPECT_TRUE(moved.closed());
  EXPECT_FALSE(is_on());
}

// Rules 75, 115 and 170.
TEST_F(PeerAccess, PeerAccessBreaksNoCapture) {
  const stream s{here};
  for (const auto mode :
       {abi::CU_STREAM_CAPTURE_MODE_GLOBAL, abi::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL}) {
    test::foreign_capture foreign{s, mode};
    { const peer_access access{here, there}; }
    EXPECT_TRUE(foreign.end());
  }
  std::optional<peer_access> access{std::in_place, here, there};
  const fault_table calls;
  {
    const detail::scoped_active_capture capture;
    access.reset();
    EXPECT_EQ(calls.count(&driver_table::cuCtxDisablePeerAccess), 0);
  }
  drain_deferred();
  EXPECT_EQ(calls.count(&driver_table::cuCtxDisablePeerAccess), 1);
}

TEST_F(PeerAccess, PeerAccessInAHostFunctionIsRefused) {
  const stream s{here};
  std::optional<peer_access> access{std::in_place, here, there};
  errc making = errc::success;
  launch_host(s, [&] {
    making = result_of([&] { const peer_access another{here, there}; });
    access.reset();
  });
  s.sync();
  drain_deferred();
  EXPECT_EQ(making, errc::not_permitted);
  EXPECT_FALSE(is_on());
}

TEST_F(PeerAccess, PeerAttributesDescribeThePair) {
  EXPECT_EQ(peer_attribute_of(here, there, peer_attribute::access_supported), 1);
  EXPECT_GE(peer_attribute_of(here, there, peer_attribute::performance_rank), 0);
}

}  // namespace
}  // namespace weir
