// SPDX-License-Identifier: Apache-2.0
// green_contexts_test.cpp - the code that docs/guide/green-contexts.md shows.
#include <gtest/gtest.h>

#include <weir/weir.hpp>

namespace {

TEST(GreenContextsPage, ADeviceIsDividedIntoGreenContexts) {
  const weir::device gpu;
  // [green-split]
  weir::sm_resource whole = weir::sm_resource::query(gpu);  // 132 multiprocessors on an H200
  weir::sm_split by = whole.split(1, 32);  // one group of at least 32, and the rest
  weir::green_context urgent{by.groups[0]};
  weir::green_context ordinary{by.remainder};

  weir::stream answers{urgent, {.priority = gpu.priorities().greatest}};
  weir::stream training{ordinary};
  // [/green-split]
  EXPECT_EQ(weir::sm_resource::query(answers).count() + weir::sm_resource::query(training).count(),
            whole.count());
  // [green-events]
  weir::event mark{gpu};
  urgent.record(mark);  // after all work of all streams of the context
  ordinary.wait(mark);  // before all later work of the other context's streams
  // [/green-events]
  training.sync();
  EXPECT_TRUE(mark.done());
}

}  // namespace
