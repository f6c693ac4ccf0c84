// SPDX-License-Identifier: Apache-2.0
// stream_pools_test.cpp - the code that docs/guide/stream-pools.md shows.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <weir/weir.hpp>

namespace {

TEST(StreamPoolsPage, APoolLendsStreams) {
  using namespace std::chrono_literals;
  const weir::device gpu;
  // [stream-pools-first]
  weir::stream_pool pool{
      gpu, {{.name = "work", .limit = 4}, {.name = "copies", .streams = {.priority = 0}}}};

  weir::stream_lease s = pool.acquire("work");  // for exclusive use, until it is destroyed
  weir::buffer<float> x{s, 100};
  weir::fill(s, x, 1.0f);  // an operation takes a lease for a stream
  s->sync();               // and -> accesses the stream

  weir::stream_ref t = pool.next("copies");  // shared: the pool's streams in turn
  // [/stream-pools-first]
  EXPECT_NE(t, s.ref());
  // [stream-pools-exhausted]
  std::optional<weir::stream_lease> at_once = pool.try_acquire("work");  // empty if all are lent
  std::optional<weir::stream_lease> later = pool.acquire_for(10ms, "work");  // empty on timeout
  // [/stream-pools-exhausted]
  EXPECT_TRUE(at_once && later);  // two of the pool's four streams
}

}  // namespace
