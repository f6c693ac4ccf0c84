// What docs/memory.md shows.
#include <gtest/gtest.h>

#include <span>
#include <utility>
#include <vector>
#include <weir/weir.hpp>

namespace {

void launch_of_somebody_else(CUstream_st*, const int*) {}

TEST(MemoryPage, Kinds) {
  const weir::device gpu;
  const weir::stream s{gpu};
  // [memory-kinds]
  weir::buffer<int> x{s, 1000};                // on the device, in the order of s
  weir::pinned_buffer<int> pinned{1000, gpu};  // on the host, page-locked
  std::vector<int> pageable(1000, 7);          // on the host
  weir::copy(s, pageable, x);
  weir::fill(s, std::span{x.data(), 10}, -1);  // a part
  weir::copy(s, x, pinned);
  s.sync();
  // [/memory-kinds]
  EXPECT_EQ(pinned[9], -1);
  EXPECT_EQ(pinned[10], 7);
}

TEST(MemoryPage, OtherStreams) {
  const weir::device gpu;
  const weir::stream s{gpu}, t{gpu};
  weir::pinned_buffer<int> host{1000, gpu};
  // [memory-other-streams]
  {
    weir::buffer<int> x{s, 1000};
    weir::fill(s, x, 3);
    t.wait(s);  // the first use elsewhere is ordered by the caller
    weir::copy(t, x, host);
    launch_of_somebody_else(t, x.data());
    x.used_on(t);  // weir did not queue that one
  }                // freed in the order of s, which waits for t on the device
  // [/memory-other-streams]
  t.sync();
  EXPECT_EQ(host[999], 3);
}

TEST(MemoryPage, SetStream) {
  const weir::device gpu;
  const weir::stream s{gpu}, t{gpu};
  // [memory-set-stream]
  weir::buffer<int> x{s, 1000};
  x.set_stream(t);  // t waits for the work of s; x is t's from here on
  weir::fill(t, x, 0);
  x.close();  // freed in the order of t, and what fails is thrown here
  // [/memory-set-stream]
  EXPECT_TRUE(x.closed());
}

}  // namespace
