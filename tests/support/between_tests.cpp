// What one test's graphs have kept is gone before the next test begins. Driver and weir give it up
// in their own time, by calls that a test which counts would take for its own. For programs that
// count calls, or destructions that wait.
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
