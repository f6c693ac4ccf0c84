// SPDX-License-Identifier: Apache-2.0
// memory_test.cpp - the code that docs/guide/memory.md shows.
#include <gtest/gtest.h>

#include <utility>
#include <vector>
#include <weir/weir.hpp>

namespace {

void launch_elsewhere(CUstream_st*, const int*) {}

TEST(MemoryPage, DeviceAndHostMemoryAreCopied) {
  const weir::device gpu;
  const weir::stream s{gpu};
  // [memory-kinds]
  weir::buffer<int> x{s, 1000};                // on the device, in the order of s
  weir::pinned_buffer<int> pinned{1000, gpu};  // on the host, page-locked
  std::vector<int> pageable(1000, 7);          // on the host
  weir::copy(s, pageable, x);
  weir::fill(s, x.first(10), -1);  // a part
  weir::copy(s, x, pinned);
  s.sync();
  // [/memory-kinds]
  EXPECT_EQ(pinned[9], -1);
  EXPECT_EQ(pinned[10], 7);
}

TEST(MemoryPage, ABufferUsedOnTwoStreamsIsFreedAfterBoth) {
  const weir::device gpu;
  const weir::stream s{gpu}, t{gpu};
  weir::pinned_buffer<int> host{1000, gpu};
  // [memory-other-streams]
  {
    weir::buffer<int> x{s, 1000};
    weir::fill(s, x, 3);
    t.wait(s);  // the caller orders the first use elsewhere
    weir::copy(t, x, host);
    weir::fill(t, x.part(500, 10), 4);
    launch_elsewhere(t, x.data());
    x.used_on(t);  // for work that weir did not queue
  }                // freed on s, which waits for t on the device
  // [/memory-other-streams]
  t.sync();
  EXPECT_EQ(host[999], 3);
}

TEST(MemoryPage, ManagedMemoryIsPrefetched) {
  const weir::device gpu;
  const weir::stream s{gpu};
  // [memory-managed]
  weir::managed_buffer<int> x{1000};
  for (int& n : x) n = 1;     // as an array
  weir::prefetch(s, x, gpu);  // to where the next work uses it
  weir::fill(s, x.first(10), 2);
  weir::prefetch(s, x, weir::memory_location::host());
  s.sync();  // the host reads it after the work
  // [/memory-managed]
  EXPECT_EQ(x[9] + x[10], 3);
}

TEST(MemoryPage, ABatchCopiesSeveralRanges) {
  const weir::device gpu;
  const weir::stream s{gpu};
  weir::buffer<int> x{s, 1000};
  weir::buffer<float> y{s, 2000};
  std::vector<int> host_x(1000, 4);
  std::vector<float> host_y(2000, 5.0f);
  // [memory-batch]
  weir::copy_batch batch;
  batch.add(host_x, x).add(host_y, y, {.source_access = weir::source_access_order::during_call});
  batch.enqueue(s);
  // [/memory-batch]
  host_y.assign(2000, 0.0f);
  weir::copy(s, y, host_y);
  s.sync();
  EXPECT_EQ(host_y.back(), 5.0f);
}

TEST(MemoryPage, SetStreamMovesABuffer) {
  const weir::device gpu;
  const weir::stream s{gpu}, t{gpu};
  // [memory-set-stream]
  weir::buffer<int> x{s, 1000};
  x.set_stream(t);  // t waits for the work of s, and x belongs to t
  weir::fill(t, x, 0);
  x.close();  // freed in the order of t; throws on failure
  // [/memory-set-stream]
  EXPECT_TRUE(x.closed());
}

}  // namespace
