// support/fresh_process.hpp - a test in a process of its own.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace weir::test {

// Runs `body` in a fresh process, where nothing of weir has been used yet: for what a process can
// do only once, such as losing its device, reading its environment or ending. A copy of the test
// program is started for it, which runs the test up to the body. The body answers whether all was
// as it should be; what is wrong it says on standard error.
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
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

// For bodies: says what is wrong, and answers whether it is.
inline bool holds(bool condition, const char* what) {
  if (!condition) std::fprintf(stderr, "does not hold: %s\n", what);
  return condition;
}

}  // namespace weir::test

// holds(), told by the condition's own text.
#define WEIR_HOLDS(condition) ::weir::test::holds((condition), #condition)
