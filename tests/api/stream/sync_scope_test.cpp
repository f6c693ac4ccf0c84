// SPDX-License-Identifier: Apache-2.0
// sync_scope_test.cpp - a block of code whose queued work is done when the block ends.
#include <weir/core/error.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/sync_scope.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/gate.hpp"
#include "support/gate_opener.hpp"
#include "support/unhandled_errors.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;
using test::failure_of;
using test::gate;
using test::result_of;
using test::unhandled_errors;

class SyncScope : public ::testing::Test {
 protected:
  device gpu;
  stream s{gpu};
};

// Rule 48: copies in the block may use memory of the enclosing function.
TEST_F(SyncScope, TheWorkOfAScopeIsDoneWhenItReturns) {
  buffer<int> x{s, 1000};
  std::vector<int> host(1000);
  sync_scope(s, [&](stream_ref inside) {
    EXPECT_EQ(inside, s.ref());
    fill(inside, x, 4);
    copy(inside, x, host);
  });
  EXPECT_EQ(host, std::vector<int>(1000, 4));
}

TEST_F(SyncScope, AScopeReturnsTheResultOfItsBody) {
  EXPECT_EQ(sync_scope(s, [](stream_ref) { return 5; }), 5);
  int there = 6;
  int& same = sync_scope(s, [&](stream_ref) -> int& { return there; });
  EXPECT_EQ(&same, &there);
  static_assert(std::is_void_v<decltype(sync_scope(s, [](stream_ref) {}))>);
  const auto moved = sync_scope(s, [](stream_ref) { return std::make_unique<int>(7); });
  EXPECT_EQ(*moved, 7);
}

// Rule 47.
TEST_F(SyncScope, AScopeWaitsIfItsBodyThrows) {
  gate held{s};
  const test::gate_opener open_when_asked{held, &driver_table::cuStreamSynchronize};
  std::string thrown;
  try {
    sync_scope(s, [](stream_ref) { throw std::runtime_error{"the body's"}; });
  } catch (const std::runtime_error& e) {
    thrown = e.what();
    EXPECT_TRUE(s.done());
  }
  EXPECT_EQ(thrown, "the body's");
}

// Rules 47 and 165: the body's error is thrown, with the error of the sync attached.
TEST_F(SyncScope, TheSyncErrorIsAttachedToTheErrorOfTheBody) {
  fault_table faults;
  faults.fail(&driver_table::cuStreamSynchronize, 1, abi::CUDA_ERROR_LAUNCH_FAILED);
  const auto failure = failure_of([&] {
    sync_scope(s, [](stream_ref) {
      throw error{errc::invalid_value, "the body", "", "", call_site::current()};
    });
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::invalid_value);
  ASSERT_EQ(failure->attached().size(), 1u);
  EXPECT_EQ(failure->attached()[0].result(), errc::launch_failed);
  EXPECT_NE(std::string{failure->what()}.find("[then cuStreamSynchronize"), std::string::npos)
      << failure->what();
}

TEST_F(SyncScope, ASyncErrorAfterAForeignExceptionReachesTheErrorHook) {
  const unhandled_errors unhandled;
  fault_table faults;
  faults.fail(&driver_table::cuStreamSynchronize, 1, abi::CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THROW(sync_scope(s, [](stream_ref) { throw std::logic_error{"the body's"}; }),
               std::logic_error);
  ASSERT_EQ(unhandled.errors().size(), 1u);
  EXPECT_EQ(unhandled.errors()[0].result(), errc::launch_failed);
}

TEST_F(SyncScope, ASyncErrorIsThrownAfterASuccessfulBody) {
  fault_table faults;
  faults.fail(&driver_table::cuStreamSynchronize, 1, abi::CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(result_of([&] { static_cast<void>(sync_scope(s, [](stream_ref) { return 1; })); }),
            errc::illegal_address);
}

TEST_F(SyncScope, AScopeThrowsTheExceptionOfAHostFunction) {
  EXPECT_THROW(
      sync_scope(s,
                 [](stream_ref in) { launch_host(in, [] { throw std::range_error{"inside"}; }); }),
      std::range_error);
}

}  // namespace
}  // namespace weir
