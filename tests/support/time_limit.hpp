// support/time_limit.hpp - a test that hangs says which it is, and where its threads are, before
// CTest ends the program.
#pragma once

#include <gtest/gtest.h>

namespace weir::test {

// Ends the program where one test, or what comes between two or after the last, takes longer than
// WEIR_TEST_LIMIT seconds; without that variable, never. The threads' stacks come from gdb, where
// there is one.
class time_limit : public testing::EmptyTestEventListener {
 public:
  time_limit();

 private:
  void OnTestStart(const testing::TestInfo& test) override;

  unsigned seconds_ = 0;
};

}  // namespace weir::test
