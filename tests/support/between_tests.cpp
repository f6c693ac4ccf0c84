// SPDX-License-Identifier: Apache-2.0
// Destroys what one test's graphs kept before the next test begins. The driver and weir release it
// asynchronously, by calls that a test which counts calls would count as its own. Used by programs
// that count calls or wait for destructions.
#include <gtest/gtest.h>

#include "support/graph_owners.hpp"

namespace {

class owners_are_released : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { weir::test::wait_for_graph_owners(); }
};

const bool listens = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new owners_are_released);
  return true;
}();

}  // namespace
