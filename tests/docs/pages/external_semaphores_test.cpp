// SPDX-License-Identifier: Apache-2.0
// external_semaphores_test.cpp - the code that docs/guide/external-semaphores.md shows.
#include <gtest/gtest.h>

#include <weir/weir.hpp>

namespace {

TEST(ExternalPage, AStreamWaitsForAndSignalsSemaphores) {
  const weir::device gpu;
  if (!gpu.is_embedded()) GTEST_SKIP() << "a GPU needs a Vulkan semaphore";
  const weir::stream s{gpu};
  weir::buffer<int> x{s, 1000};
  // [external-semaphore]
  weir::shared_semaphore ready, done;  // in memory that processes share
  weir::external_semaphore ready_here{gpu, ready}, done_here{gpu, done};

  ready_here.wait(s, 1);  // the stream waits until 1 is signalled
  weir::fill(s, x, 7);
  done_here.signal(s, 1);  // and signals when it is done

  ready.signal(1);  // from this thread; another process works as well
  done.wait(1);
  // [/external-semaphore]
  s.sync();
  EXPECT_EQ(done.value(), 1u);
}

}  // namespace
