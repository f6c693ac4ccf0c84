// SPDX-License-Identifier: Apache-2.0
// seqlock_test.cpp - readers of a seqlock during stores.
#include "embedded/engine/seqlock.hpp"

#include <atomic>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

namespace weir::embedded::engine {
namespace {

TEST(Seqlock, AReaderNeverSeesATornValue) {
  struct pair {
    std::uint64_t one;
    std::uint64_t other;
    std::uint32_t third;
  };
  seqlock<pair> value;
  std::atomic<bool> stop{false};
  std::thread writer{[&] {
    for (std::uint32_t i = 1; !stop.load(std::memory_order_relaxed); ++i)
      value.store({i, ~std::uint64_t{i}, i});
  }};
  for (int i = 0; i < 20'000; ++i) {
    const pair seen = value.load();
    const bool whole =
        (seen.one == 0 && seen.other == 0) || (seen.other == ~seen.one && seen.third == seen.one);
    if (!whole) ADD_FAILURE() << seen.one << ' ' << seen.other << ' ' << seen.third;
  }
  stop = true;
  writer.join();
}

}  // namespace
}  // namespace weir::embedded::engine
