// What docs/guide/external-semaphores.md shows.
#include <gtest/gtest.h>

#include <weir/weir.hpp>

namespace {

TEST(ExternalPage, AStreamWaitsForAndSignalsSemaphores) {
  const weir::device gpu;
  if (!gpu.is_embedded()) GTEST_SKIP() << "a GPU imports semaphores of Vulkan's";
  const weir::stream s{gpu};
  weir::buffer<int> x{s, 1000};
  // [external-semaphore]
  weir::shared_semaphore ready, done;  // in memory that processes share
  weir::external_semaphore ready_here{gpu, ready}, done_here{gpu, done};

  ready_here.wait(s, 1);  // the stream waits until somebody signals 1
  weir::fill(s, x, 7);
  done_here.signal(s, 1);  // and says when it is through

  ready.signal(1);  // here: this thread, or another process
  done.wait(1);
  // [/external-semaphore]
  s.sync();
  EXPECT_EQ(done.value(), 1u);
}

}  // namespace
