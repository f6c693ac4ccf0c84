// SPDX-License-Identifier: Apache-2.0
// biased_lock_test.cpp - which thread enters with the bias, and mutual exclusion.
#include "embedded/engine/biased_lock.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/yield_for.hpp"

namespace weir::embedded::engine {
namespace {

bool enters_biased(biased_lock& lock) { return biased_lock::section{lock}.is_biased(); }

bool enters_biased_in_a_thread(biased_lock& lock) {
  bool is_biased = false;
  std::thread{[&] { is_biased = enters_biased(lock); }}.join();
  return is_biased;
}

TEST(BiasedLock, ALockIsBiasedToItsFirstThread) {
  biased_lock lock;
  EXPECT_TRUE(enters_biased(lock));
  EXPECT_TRUE(enters_biased(lock));
}

TEST(BiasedLock, AnotherThreadRevokesTheBiasAndTheNextThreadGetsIt) {
  biased_lock lock;
  EXPECT_TRUE(enters_biased(lock));
  EXPECT_FALSE(enters_biased_in_a_thread(lock));
  EXPECT_TRUE(enters_biased(lock));
}

TEST(BiasedLock, ALockIsUnbiasedAfterSeveralRevocationsUntilItIsReset) {
  biased_lock lock;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(enters_biased(lock));
    EXPECT_FALSE(enters_biased_in_a_thread(lock));
  }
  EXPECT_FALSE(enters_biased(lock));
  lock.reset_bias();
  EXPECT_TRUE(enters_biased(lock));
}

TEST(BiasedLock, ALockBiasedToAnEndedThreadIsTakenOver) {
  biased_lock lock;
  EXPECT_TRUE(enters_biased_in_a_thread(lock));
  // A later thread may get the ended thread's id, and with it the bias; this thread never does.
  EXPECT_FALSE(enters_biased(lock));
  EXPECT_TRUE(enters_biased(lock));
}

TEST(BiasedLock, NestedSectionsAreBiasedInTheOuterLevels) {
  std::array<biased_lock, 4> locks;
  biased_lock::section first{locks[0]};
  biased_lock::section second{locks[1]};
  biased_lock::section third{locks[2]};
  EXPECT_TRUE(first.is_biased());
  EXPECT_TRUE(second.is_biased());
  EXPECT_FALSE(third.is_biased());
  EXPECT_FALSE(enters_biased_in_a_thread(locks[3]) && enters_biased(locks[3]));
}

TEST(BiasedLock, NestedSectionsMayEndInAnyOrder) {
  std::array<biased_lock, 2> locks;
  std::optional<biased_lock::section> first;
  std::optional<biased_lock::section> second;
  first.emplace(locks[0]);
  second.emplace(locks[1]);
  first.reset();
  EXPECT_FALSE(enters_biased_in_a_thread(locks[0]));  // and does not wait
  std::atomic<bool> left{false};
  std::thread other{[&] {
    const biased_lock::section alone{locks[1]};
    EXPECT_TRUE(left.load());
  }};
  test::yield_for(std::chrono::milliseconds{1});
  left = true;
  second.reset();
  other.join();
}

// The counter would be wrong if two threads were ever inside together; TSan detects it, too.
TEST(BiasedLock, ALockAdmitsOneThreadAtATime) {
  constexpr int threads = 4;
  constexpr int rounds = 3000;
  biased_lock lock;
  long plain = 0;
  std::vector<std::thread> all;
  all.reserve(threads);
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      for (int i = 0; i < rounds; ++i) {
        if (i % 64 == t) lock.reset_bias();  // so that the bias keeps moving between threads
        const biased_lock::section alone{lock};
        ++plain;
      }
    });
  }
  for (std::thread& t : all) t.join();
  EXPECT_EQ(plain, threads * rounds);
}

TEST(BiasedLock, ShortLivedThreadsEnterManyLocks) {
  std::array<biased_lock, 8> locks;
  std::array<long, 8> plain{};
  for (int round = 0; round < 40; ++round) {
    std::vector<std::thread> all;
    for (std::size_t t = 0; t < 3; ++t) {
      all.emplace_back([&, t] {
        for (std::size_t i = 0; i < 160; ++i) {
          const std::size_t which = (i * (t + 1)) % locks.size();
          if (i % 32 == 0) locks[which].reset_bias();
          const biased_lock::section alone{locks[which]};
          ++plain[which];
        }
      });
    }
    for (std::thread& t : all) t.join();
  }
  long all = 0;
  for (const long p : plain) all += p;
  EXPECT_EQ(all, 40 * 3 * 160);
}

}  // namespace
}  // namespace weir::embedded::engine
