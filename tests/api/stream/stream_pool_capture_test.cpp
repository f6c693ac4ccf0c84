// SPDX-License-Identifier: Apache-2.0
// stream_pool_capture_test.cpp - pooled streams that are returned while they capture, or lent
// during a capture.
#include <weir/stream/stream_pool.hpp>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "driver/table.hpp"
#include "support/errors.hpp"
#include "support/foreign_capture.hpp"

namespace weir {
namespace {

using detail::driver;
using detail::driver_table;
using test::failure_of;
using test::result_of;

class StreamPoolCapture : public ::testing::Test {
 protected:
  device gpu;
};

TEST_F(StreamPoolCapture, ACapturingStreamIsNotLent) {
  const stream_pool pool{gpu, {.limit = 2}};
  stream_lease a = pool.acquire();
  const stream_ref captured = a;
  test::foreign_capture foreign{captured, abi::CU_STREAM_CAPTURE_MODE_GLOBAL};
  a.close();
  {
    const stream_lease b = pool.acquire();
    EXPECT_NE(b.ref(), captured);
    EXPECT_FALSE(pool.try_acquire());
    EXPECT_NE(pool.next(), captured);
    EXPECT_NE(pool.next(), captured);
  }
  EXPECT_TRUE(foreign.end()) << "a query broke the capture";
  const stream_lease b = pool.acquire();
  const stream_lease c = pool.acquire();
  EXPECT_TRUE(b.ref() == captured || c.ref() == captured);
}

TEST_F(StreamPoolCapture, APoolWhoseStreamsAllCaptureIsExhausted) {
  const stream_pool pool{gpu, {.limit = 1}};
  const stream_ref only = pool.next();
  test::foreign_capture foreign{only, abi::CU_STREAM_CAPTURE_MODE_GLOBAL};
  const auto failure = failure_of([&] { static_cast<void>(pool.next()); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::exhausted);
  EXPECT_NE(failure->hint().find("streams of the role take part in captures"), std::string::npos)
      << failure->what();
  EXPECT_EQ(result_of([&] { static_cast<void>(pool.acquire()); }), errc::exhausted);
  EXPECT_TRUE(foreign.end());
  EXPECT_EQ(pool.next(), only);
}

// One stream captures, and each thread still gets a stream, whatever the other threads acquire,
// query and return.
TEST_F(StreamPoolCapture, ACapturingStreamLeavesTheOtherStreamsAvailable) {
  constexpr unsigned many = 3;
  const stream_pool pool{gpu, {.limit = many + 1}};
  stream_lease captured = pool.acquire();
  const stream_ref origin = captured;
  test::foreign_capture foreign{origin, abi::CU_STREAM_CAPTURE_MODE_GLOBAL};
  captured.close();
  std::atomic<int> missed{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < many; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        if (!pool.try_acquire()) ++missed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(missed, 0);
  EXPECT_TRUE(foreign.end());
}

// Another caller takes a turn whenever this thread queries a stream, so that this thread only meets
// the captured one.
TEST_F(StreamPoolCapture, ConcurrentCallersDoNotHideAFreeStream) {
  const stream_pool pool{gpu, {.limit = 2}};
  const stream_ref free = pool.next();
  const stream_ref origin = pool.next();
  test::foreign_capture foreign{origin, abi::CU_STREAM_CAPTURE_MODE_GLOBAL};
  static const stream_pool* shared;
  static const driver_table* real;
  shared = &pool;
  real = &driver();
  static driver_table interrupted = *real;
  interrupted.cuStreamIsCapturing = [](abi::CUstream stream, abi::CUstreamCaptureStatus* status) {
    const abi::CUresult answer = real->cuStreamIsCapturing(stream, status);
    static bool nested = false;
    if (!std::exchange(nested, true)) {
      static_cast<void>(shared->next());
      nested = false;
    }
    return answer;
  };
  detail::table_in_use = &interrupted;
  static_cast<void>(pool.next());
  const errc result = result_of([&] { EXPECT_EQ(pool.next(), free); });
  detail::table_in_use = real;
  EXPECT_EQ(result, errc::success);
  EXPECT_TRUE(foreign.end());
}

// A capture of a stream outside the pool stays valid during all calls of the pool.
TEST_F(StreamPoolCapture, LendingBreaksNoCapture) {
  const stream_pool pool{gpu, {.limit = 2}};
  const stream other{gpu};
  test::foreign_capture foreign{other, abi::CU_STREAM_CAPTURE_MODE_GLOBAL};
  {
    const stream_lease a = pool.acquire();
    const stream_lease b = pool.acquire();
  }
  static_cast<void>(pool.acquire());
  EXPECT_TRUE(foreign.end());
}

}  // namespace
}  // namespace weir
