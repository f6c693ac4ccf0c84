// SPDX-License-Identifier: Apache-2.0
// verify_test.cpp - the code that docs/guide/verify.md shows.
#include <gtest/gtest.h>

#include <weir/weir.hpp>

namespace {

TEST(VerifyPage, VerificationIsEnabledInCode) {
  const weir::device gpu;
  const weir::stream s{gpu};
  weir::pinned_buffer<int> x{100};
  // [verify-code]
  weir::verify_operations(true);  // in code, for the whole process
  weir::fill(s, x, 1);            // finished when this returns
  weir::verify_operations(false);
  // [/verify-code]
  EXPECT_EQ(x[99], 1);
}

}  // namespace
