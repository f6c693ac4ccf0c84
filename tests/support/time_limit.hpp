// SPDX-License-Identifier: Apache-2.0
// support/time_limit.hpp - a test that hangs prints its name and its threads' stacks, before CTest
// ends the program.
#pragma once

#include <gtest/gtest.h>

namespace weir::test {

// Ends the program if one test, or the code between or after tests, takes longer than
// WEIR_TEST_LIMIT seconds; never if that variable is unset. gdb prints the threads' stacks, if it
// is installed.
class time_limit : public testing::EmptyTestEventListener {
 public:
  time_limit();

 private:
  void OnTestStart(const testing::TestInfo& test) override;

  unsigned seconds_ = 0;
};

}  // namespace weir::test
