// SPDX-License-Identifier: Apache-2.0
// cooperative_grid_test.cpp - blocks that wait for each other: in cooperative launches, and in
// clusters.
#include "kernel_fixture.hpp"

#include <atomic>
#include <thread>

namespace weir::embedded {
namespace {

using CooperativeLaunch = kernel_test;

struct shared_count {
  std::atomic<unsigned> arrived{0};
  std::atomic<unsigned> wrong{0};
};

void meet_in_grid(const thread_of& t) {
  auto& c = *static_cast<shared_count*>(t.argument);
  const unsigned all = t.block.grid.x * t.block.size.x;
  for (unsigned round = 1; round <= 10; ++round) {
    ++c.arrived;
    service.grid_barrier();
    if (c.arrived != all * round) ++c.wrong;
    service.grid_barrier();
  }
}
TEST_F(CooperativeLaunch, AGridBarrierWaitsForAllBlocks) {
  for (const unsigned blocks : {1u, 2u, 30u, 200u}) {
    shared_count c;
    ASSERT_EQ(run_cooperative(waiting<meet_in_grid>, {blocks, 1, 1}, {7, 1, 1}, &c), CUDA_SUCCESS);
    EXPECT_EQ(c.wrong, 0u) << blocks;
  }
}

// Barriers do not wait for blocks and threads that have ended.
void some_blocks_end(const thread_of& t) {
  auto& c = *static_cast<shared_count*>(t.argument);
  if (t.block.index.x % 3 == 0 || t.index == 1) return;
  service.grid_barrier();
  ++c.arrived;
}
TEST_F(CooperativeLaunch, AGridBarrierDoesNotWaitForEndedBlocks) {
  shared_count c;
  ASSERT_EQ(run_cooperative(waiting<some_blocks_end>, {9, 1, 1}, {4, 1, 1}, &c), CUDA_SUCCESS);
  EXPECT_EQ(c.arrived, 6u * 3);
}

// Blocks may wait for each other through memory alone; here each waits for the next one.
void pass_the_word_on(const thread_of& t) {
  auto& passed = *static_cast<std::atomic<unsigned>*>(t.argument);
  while (passed.load() != t.block.grid.x - 1 - t.block.index.x) std::this_thread::yield();
  ++passed;
}
TEST_F(CooperativeLaunch, BlocksThatPollMemoryMakeProgress) {
  std::atomic<unsigned> passed{0};
  ASSERT_EQ(run_cooperative(waiting<pass_the_word_on>, {5, 1, 1}, {1, 1, 1}, &passed),
            CUDA_SUCCESS);
  EXPECT_EQ(passed, 5u);
}

// A fault in one block ends the blocks that wait for it.
void one_block_fails(const thread_of& t) {
  if (t.block.index.x == 3) service.fail(weir_fault_assert, nullptr);
  service.grid_barrier();
}
TEST_F(CooperativeLaunch, AFailedBlockEndsTheLaunch) {
  EXPECT_EQ(run_cooperative(waiting<one_block_fails>, {8, 1, 1}, {4, 1, 1}, nullptr),
            CUDA_ERROR_ASSERT);
  shared_count c;
  EXPECT_EQ(run_cooperative(waiting<meet_in_grid>, {8, 1, 1}, {4, 1, 1}, &c), CUDA_SUCCESS);
}

// Some threads of a block wait at the grid barrier, the others at the block barrier: a deadlock.
void wait_in_grid_or_block(const thread_of& t) {
  if (t.index == 0) {
    service.grid_barrier();
  } else {
    service.block_barrier(weir_barrier_plain, 0);
  }
}
// The blocks of a cluster wait at the cluster barrier, others at the grid barrier.
void wait_in_grid_or_cluster(const thread_of& t) {
  if (t.block.index.x == 0) {
    service.grid_barrier();
  } else {
    service.cluster_barrier();
  }
}
TEST_F(CooperativeLaunch, ADeadlockFailsTheLaunch) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_cooperative(waiting<wait_in_grid_or_block>, {4, 1, 1}, {4, 1, 1}, nullptr),
            CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(
      run(waiting<wait_in_grid_or_cluster>, {2, 1, 1}, {4, 1, 1}, nullptr, 0, {2, 1, 1}, true),
      CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("wait for each other for ever"));
}

// Without a cooperative launch there is no grid barrier.
TEST_F(CooperativeLaunch, AnOrdinaryLaunchRefusesAGridBarrier) {
  shared_count c;
  testing::internal::CaptureStderr();
  EXPECT_EQ(run(waiting<meet_in_grid>, {2, 1, 1}, {4, 1, 1}, &c), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("not cooperative"));
}

// Blocks of a cluster access each other's shared memory: static (thread-local here) and dynamic.
thread_local unsigned static_word;
void read_others(const thread_of& t) {
  auto& c = *static_cast<shared_count*>(t.argument);
  const weir_block& b = t.block;
  const unsigned rank = b.index.x % b.cluster.x + b.cluster.x * (b.index.y % b.cluster.y);
  const unsigned first = b.index.x - b.index.x % b.cluster.x;
  auto* const dynamic_word = reinterpret_cast<unsigned*>(b.shared);
  if (t.index == 0) {
    static_word = b.index.x * 1000 + b.index.y;
    *dynamic_word = static_word + 7;
  }
  service.cluster_barrier();
  for (unsigned other = 0; other < b.cluster.x * b.cluster.y; ++other) {
    const unsigned x = first + other % b.cluster.x;
    const unsigned y = b.index.y - b.index.y % b.cluster.y + other / b.cluster.x;
    if (*static_cast<unsigned*>(service.cluster_address(&static_word, other)) != x * 1000 + y)
      ++c.wrong;
    if (*static_cast<unsigned*>(service.cluster_address(dynamic_word, other)) != x * 1000 + y + 7)
      ++c.wrong;
  }
  if (service.cluster_address(&static_word, rank) != &static_word) ++c.wrong;
  ++c.arrived;
  service.cluster_barrier();
}
TEST_F(CooperativeLaunch, BlocksOfAClusterShareMemory) {
  for (const bool cooperative : {false, true}) {
    shared_count c;
    ASSERT_EQ(run(waiting<read_others>, {6, 4, 1}, {5, 1, 1}, &c, 64, {3, 2, 1}, cooperative),
              CUDA_SUCCESS);
    EXPECT_EQ(c.wrong, 0u);
    EXPECT_EQ(c.arrived, 6u * 4 * 5);
  }
}

// An address outside shared memory has no counterpart in another block.
void ask_for_counterpart(const thread_of& t) {
  service.cluster_barrier();
  service.cluster_address(t.argument, (t.block.index.x + 1) % 2);
}
TEST_F(CooperativeLaunch, OnlySharedMemoryIsMappedInACluster) {
  unsigned word = 0;
  EXPECT_EQ(run(waiting<ask_for_counterpart>, {2, 1, 1}, {1, 1, 1}, &word, 0, {2, 1, 1}),
            CUDA_ERROR_ILLEGAL_ADDRESS);
}

}  // namespace
}  // namespace weir::embedded
