// SPDX-License-Identifier: Apache-2.0
// Requests that make and destroy everything they use, beside a device that is never idle: nothing
// piles up. bench/ measures times; this test counts.
#include <weir/core/deferred.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>
#include <weir/sync/value_wait.hpp>
#include <weir/sync/wait_word.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>

#include <gtest/gtest.h>

#include "support/fault_table.hpp"
#include "support/gate.hpp"

namespace {

using weir::detail::driver_table;
using weir::detail::fault_table;

constexpr int requests = 10'000;
constexpr int requests_per_sync = 8;

// Queues copies between memory of random size, and a write of a word.
void run_request(weir::stream_ref s, std::size_t size) {
  weir::pinned_buffer<std::uint32_t> in{size};
  weir::pinned_buffer<std::uint32_t> out{size};
  weir::buffer<std::uint32_t> x{s, size};
  weir::copy(s, in, x);
  weir::copy(s, x, out);
  const weir::wait_word<std::uint32_t> w;
  weir::write_value(s, w, 1);
}

TEST(BacklogSoak, RequestsBesideABusyDevicePileNothingUp) {
  const weir::device gpu;
  const weir::stream s{gpu};
  const weir::stream busy{gpu};
  if (weir::test::share_hardware_queue(s, busy)) GTEST_SKIP() << "the busy stream would hold s";
  weir::drain_deferred();
  std::mt19937 random{1};
  std::uniform_int_distribution<std::size_t> sizes{1, 1 << 14};
  std::size_t most = 0;
  const fault_table calls;
  const weir::test::gate held{busy};
  for (int i = 0; i < requests; ++i) {
    run_request(s, sizes(random));
    if (i % requests_per_sync != 0) continue;
    s.sync();
    most = std::max(most, weir::deferred_count());
  }
  EXPECT_EQ(most, 0u);
  EXPECT_LE(calls.count(&driver_table::cuMemHostAlloc), 300);
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeHost), 0);
}

}  // namespace
