// SPDX-License-Identifier: Apache-2.0
// peer_access_test.cpp - peer access with failing driver calls.
#include <weir/device/context.hpp>
#include <weir/device/peer_access.hpp>

#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "faults/every_call.hpp"

namespace weir {
namespace {

using test::driver_table;
using test::every_call_may_fail;
using test::fault_table;
using test::result_of;
using test::unhandled_errors;

class PeerAccessFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    if (device::count() < 2) GTEST_SKIP() << "one device";
    if (!here.can_access(there)) GTEST_SKIP() << "the devices cannot reach each other";
  }

  device here{0};
  device there{1};
};

TEST_F(PeerAccessFaults, CreatingAPeerAccessReportsEachFailedCall) {
  every_call_may_fail([&] { return peer_access{here, there}; });
  every_call_may_fail(
      [&] { static_cast<void>(peer_attribute_of(here, there, peer_attribute::access_supported)); });
}

// Rule 160: the error reaches the handler, and a later peer_access works.
TEST_F(PeerAccessFaults, AFailureToDisablePeerAccessReachesTheErrorHandler) {
  const unhandled_errors unhandled;
  fault_table faults;
  std::optional<peer_access> access{std::in_place, here, there};
  faults.fail(&driver_table::cuCtxDisablePeerAccess, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
  access.reset();
  ASSERT_EQ(unhandled.errors().size(), 1u);
  EXPECT_STREQ(unhandled.errors()[0].call(), "cuCtxDisablePeerAccess");
  const context_scope current{here};
  EXPECT_EQ(detail::driver().cuCtxDisablePeerAccess(there.primary_context().get()),
            abi::CUDA_SUCCESS);
  peer_access again{here, there};
  faults.fail(&driver_table::cuCtxDisablePeerAccess, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
  EXPECT_EQ(result_of([&] { again.close(); }), errc::system_not_ready);
  EXPECT_TRUE(again.closed());
  EXPECT_EQ(detail::driver().cuCtxDisablePeerAccess(there.primary_context().get()),
            abi::CUDA_SUCCESS);
}

}  // namespace
}  // namespace weir
