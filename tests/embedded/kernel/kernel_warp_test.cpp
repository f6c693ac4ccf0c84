// SPDX-License-Identifier: Apache-2.0
// kernel_warp_test.cpp - lanes of a warp exchange values.
#include "kernel_fixture.hpp"

namespace weir::embedded {
namespace {

using KernelWarp = kernel_test;

constexpr unsigned all = 0xffffffff;

// Sums the values of a warp by halving, as kernels do.
void reduce(const thread_of& t) {
  auto& sums = *static_cast<std::vector<std::uint64_t>*>(t.argument);
  std::uint64_t value = t.index;
  const unsigned lane = t.index % 32;
  for (unsigned step = 16; step > 0; step /= 2) {
    unsigned present = 0;
    const auto* const values = service.warp_exchange(all, value, &present);
    value += lane + step < 32 ? values[lane + step] : 0;
  }
  if (lane == 0) sums[t.index / 32] = value;
}
TEST_F(KernelWarp, AWarpReducesItsValues) {
  for (const bool random : {false, true}) {
    kernel::configure({random, 9});
    for (const unsigned threads : {32u, 256u, 1024u, 40u}) {
      std::vector<std::uint64_t> sums(32);
      ASSERT_EQ(run(waiting<reduce>, {1, 1, 1}, {threads, 1, 1}, &sums), CUDA_SUCCESS);
      for (unsigned warp = 0; warp * 32 < threads; ++warp) {
        const unsigned last = std::min(warp * 32 + 32, threads);
        std::uint64_t expected = 0;
        for (unsigned i = warp * 32; i < last; ++i) expected += i;
        EXPECT_EQ(sums[warp], expected) << threads << ' ' << warp;
      }
    }
  }
}

// Groups of lanes synchronize independently, and one group may be ahead of another.
void meet_in_halves(const thread_of& t) {
  auto& wrong = *static_cast<unsigned*>(t.argument);
  const bool low = t.index % 32 < 16;
  const unsigned mask = low ? 0x0000ffff : 0xffff0000;
  for (unsigned round = 0; round < (low ? 7u : 3u); ++round) {
    unsigned present = 0;
    const auto* const values = service.warp_exchange(mask, round * 100 + t.index, &present);
    if (present != mask) ++wrong;
    for (unsigned lane = 0; lane < 32; ++lane) {
      const std::uint64_t expected = (mask >> lane & 1) != 0 ? round * 100 + lane : 0;
      if (values[lane] != expected) ++wrong;
    }
  }
  service.warp_barrier(all);
}
TEST_F(KernelWarp, GroupsOfAWarpSynchronize) {
  unsigned wrong = 0;
  for (const bool random : {false, true}) {
    kernel::configure({random, 2});
    EXPECT_EQ(run(waiting<meet_in_halves>, {1, 1, 1}, {32, 1, 1}, &wrong), CUDA_SUCCESS);
  }
  EXPECT_EQ(wrong, 0u);
}

// A warp operation does not wait for a lane that has ended, and reads its value as 0.
void some_end(const thread_of& t) {
  auto& told = *static_cast<std::vector<std::uint64_t>*>(t.argument);
  if (t.index % 3 == 0) return;
  unsigned present = 0;
  const auto* const values = service.warp_exchange(all, t.index, &present);
  told.assign(values, values + 32);
  told.push_back(present);
}
TEST_F(KernelWarp, AWarpDoesNotWaitForEndedLanes) {
  std::vector<std::uint64_t> told;
  ASSERT_EQ(run(waiting<some_end>, {1, 1, 1}, {32, 1, 1}, &told), CUDA_SUCCESS);
  for (unsigned lane = 0; lane < 32; ++lane) EXPECT_EQ(told[lane], lane % 3 == 0 ? 0 : lane);
  EXPECT_EQ(told[32], 0b10110110110110110110110110110110u);
}

// Lanes that query the active mask at one place see each other.
void ask(const thread_of& t) {
  auto& masks = *static_cast<std::vector<unsigned>*>(t.argument);
  static constexpr char here = 0;
  static constexpr char there = 0;
  if (t.index % 4 == 3) service.warp_barrier(1u << (t.index % 32));  // arrives later
  masks[t.index] = service.active_mask(t.index % 4 == 0 ? &here : &there);
}
TEST_F(KernelWarp, TheActiveMaskNamesTheActiveLanes) {
  std::vector<unsigned> masks(64);
  for (const bool random : {false, true}) {
    kernel::configure({random, 4});
    ASSERT_EQ(run(waiting<ask>, {1, 1, 1}, {64, 1, 1}, &masks), CUDA_SUCCESS);
    for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(masks[i], i % 4 == 0 ? 0x11111111u : 0xeeeeeeeeu);
  }
}

// A warp operation does not wait for a lane that is at a barrier of the block.
void ask_while_others_wait(const thread_of& t) {
  auto& masks = *static_cast<std::vector<unsigned>*>(t.argument);
  if (t.index < 8) masks[t.index] = service.active_mask(&masks);
  service.block_barrier(weir_barrier_plain, 0);
}
TEST_F(KernelWarp, TheActiveMaskOmitsWaitingLanes) {
  std::vector<unsigned> masks(8);
  ASSERT_EQ(run(waiting<ask_while_others_wait>, {1, 1, 1}, {64, 1, 1}, &masks), CUDA_SUCCESS);
  EXPECT_THAT(masks, testing::Each(0xffu));
}

// A sleeping thread lets the other threads run, so it may wait for their writes.
void spin(const thread_of& t) {
  auto& flag = *static_cast<volatile unsigned*>(t.argument);
  if (t.index == 0) {
    while (flag == 0) service.sleep(10);
  } else {
    flag = 1;
  }
}
TEST_F(KernelWarp, SleepingThreadsYieldToOtherThreads) {
  unsigned flag = 0;
  EXPECT_EQ(run(waiting<spin>, {1, 1, 1}, {2, 1, 1}, &flag), CUDA_SUCCESS);
}

}  // namespace
}  // namespace weir::embedded
