// SPDX-License-Identifier: Apache-2.0
// The code on docs/guide/testing.md.
#include <weir/testing.hpp>

#include <weir/memory/buffer.hpp>
#include <weir/memory/fill.hpp>
#include <weir/stream/stream.hpp>

#include <gtest/gtest.h>

namespace {

// Allocates three times.
void run(weir::device gpu) {
  const weir::stream s{gpu};
  for (int i = 0; i < 3; ++i) {
    weir::buffer<int> x{s, 100};
    weir::fill(s, x, i);
  }
  s.sync();
}

bool nothing_is_lost() { return true; }

TEST(TestingPage, FailCall) {
  const weir::device gpu;
  // [fail-call]
  weir::testing::fail_call failing{"cuMemAllocAsync", 3, weir::errc::out_of_memory};
  EXPECT_THROW(run(gpu), weir::error);  // its third allocation fails
  EXPECT_EQ(failing.failures(), 1u);
  // [/fail-call]
}

TEST(TestingPage, ForEachFailingCall) {
  const weir::device gpu;
  weir::set_unhandled_error_handler([](std::exception_ptr) noexcept {});
  // [for-each]
  weir::testing::for_each_failing_call([&](const weir::testing::failing_call& failing) {
    SCOPED_TRACE(failing.number());
    run(gpu);  // may throw weir::error or std::bad_alloc when a call fails
    EXPECT_TRUE(nothing_is_lost()) << failing.name();
  });
  // [/for-each]
  weir::set_unhandled_error_handler(nullptr);
}

}  // namespace
