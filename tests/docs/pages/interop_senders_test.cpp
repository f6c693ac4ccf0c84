// SPDX-License-Identifier: Apache-2.0
// interop_senders_test.cpp - the code that docs/guide/interop.md shows about senders.
#include <gtest/gtest.h>

#include <numeric>
#include <stdexec/execution.hpp>
#include <utility>
#include <weir/interop/stdexec.hpp>
#include <weir/weir.hpp>

namespace {

int sum(const weir::pinned_buffer<int>& x) {
  return std::accumulate(x.data(), x.data() + x.size(), 0);
}

TEST(InteropPage, CompletionsAreSenders) {
  const weir::stream s{weir::device{}};
  weir::pinned_buffer<int> x{10};
  weir::fill(s, x, 3);
  // [interop-senders]
  auto total = weir::as_sender(s.completion()) | stdexec::then([&] { return sum(x); });
  auto [thirty] = stdexec::sync_wait(std::move(total)).value();
  // [/interop-senders]
  EXPECT_EQ(thirty, 30);
  // [interop-schedulers]
  weir::stream_scheduler on_stream{s};
  auto after = stdexec::schedule(on_stream) | stdexec::then([&] { return sum(x); });
  weir::fill(s, x, 4);  // before the start, so it runs before `after`, too
  auto [forty] = stdexec::sync_wait(std::move(after)).value();
  // [/interop-schedulers]
  EXPECT_EQ(forty, 40);
}

}  // namespace
