// SPDX-License-Identifier: Apache-2.0
// errors_test.cpp - the code that docs/guide/errors.md shows.
#include <gtest/gtest.h>

#include <cstdio>
#include <exception>
#include <system_error>
#include <weir/weir.hpp>

namespace {

void log_failure(std::exception_ptr failure) noexcept {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "weir: %s\n", e.what());
  } catch (...) {
  }
}

TEST(ErrorsPage, AnErrorIsCaught) {
  const weir::device gpu;
  weir::stream s{gpu};
  s.close();
  bool closed = false;
  // [errors-catch]
  try {
    s.sync();
  } catch (const weir::error& e) {
    closed = e.result() == weir::errc::closed;
    std::puts(e.what());
  }
  // [/errors-catch]
  EXPECT_TRUE(closed);
}

TEST(ErrorsPage, AHookReceivesUnraisedErrors) {
  // [errors-hook]
  weir::unhandled_error_handler before = weir::set_unhandled_error_handler(log_failure);
  // [/errors-hook]
  weir::set_unhandled_error_handler(before);
  EXPECT_EQ(weir::set_unhandled_error_handler(nullptr), before);
}

TEST(ErrorsPage, ErrorCodesCompareToStandardConditions) {
  // [errors-codes]
  std::error_code code = weir::errc::out_of_memory;
  bool memory = code == std::errc::not_enough_memory;  // true, with any driver
  // [/errors-codes]
  EXPECT_TRUE(memory);
}

TEST(ErrorsPage, AContextReturnsItsStatus) {
  const weir::device gpu;
  // [errors-status]
  bool well = gpu.primary_context().status() == weir::errc::success;
  // [/errors-status]
  EXPECT_TRUE(well);
}

}  // namespace
