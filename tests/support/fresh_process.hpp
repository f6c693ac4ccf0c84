// SPDX-License-Identifier: Apache-2.0
// support/fresh_process.hpp - runs a test in its own process.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace weir::test {

// Runs `body` in a fresh process in which weir is unused: for what a process can do only once, such
// as losing its device, reading its environment or exiting.
// It starts a copy of the test program, which runs the test up to the body. The body returns true
// if all its checks hold, and prints those that do not to standard error.
template <class Body>
void in_a_fresh_process(const Body& body) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [&] {
    try {
      std::exit(body() ? 0 : 1);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s\n", e.what());
      std::exit(2);
    }
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

// Returns the condition, and prints `what` if it is false. For bodies.
inline bool holds(bool condition, const char* what) {
  if (!condition) std::fprintf(stderr, "does not hold: %s\n", what);
  return condition;
}

}  // namespace weir::test

// Calls holds() with the condition's own text.
#define WEIR_HOLDS(condition) ::weir::test::holds((condition), #condition)
