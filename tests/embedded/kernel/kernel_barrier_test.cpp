// SPDX-License-Identifier: Apache-2.0
// kernel_barrier_test.cpp - barriers between threads of a block.
#include "kernel_fixture.hpp"

#include <algorithm>
#include <numeric>

namespace weir::embedded {
namespace {

using KernelBarrier = kernel_test;

struct rounds {
  std::vector<unsigned> arrived = std::vector<unsigned>(64);
  unsigned wrong = 0;
};

// No thread passes a barrier before all have arrived.
void go_round(const thread_of& t) {
  auto& r = *static_cast<rounds*>(t.argument);
  for (unsigned& arrived : r.arrived) {
    ++arrived;
    service.block_barrier(weir_barrier_plain, 0);
    if (arrived != t.block.size.x) ++r.wrong;
  }
}
TEST_F(KernelBarrier, ABarrierWaitsForAllThreads) {
  for (const bool random : {false, true}) {
    kernel::configure({random, 5});
    for (const unsigned threads : {1u, 2u, 37u, 256u, 1024u}) {
      rounds r;
      ASSERT_EQ(run(waiting<go_round>, {1, 1, 1}, {threads, 1, 1}, &r), CUDA_SUCCESS);
      EXPECT_EQ(r.wrong, 0u) << threads;
    }
  }
}

// A barrier does not wait for threads that have ended, whichever thread arrives or ends last.
void leave_early(const thread_of& t) {
  auto& passed = *static_cast<unsigned*>(t.argument);
  for (unsigned round = 0; round < 4; ++round) {
    if (t.index % 4 == round) return;
    service.block_barrier(weir_barrier_plain, 0);
  }
  ++passed;
}
void end_last(const thread_of& t) {
  auto& passed = *static_cast<unsigned*>(t.argument);
  if (t.index + 1 == t.block.size.x) return;
  service.block_barrier(weir_barrier_plain, 0);
  ++passed;
}
TEST_F(KernelBarrier, ABarrierDoesNotWaitForEndedThreads) {
  unsigned passed = 0;
  EXPECT_EQ(run(waiting<leave_early>, {1, 1, 1}, {100, 1, 1}, &passed), CUDA_SUCCESS);
  EXPECT_EQ(passed, 0u);
  EXPECT_EQ(run(waiting<end_last>, {1, 1, 1}, {100, 1, 1}, &passed), CUDA_SUCCESS);
  EXPECT_EQ(passed, 99u);
}

// The barriers that count return one result to every thread.
void vote(const thread_of& t) {
  auto& answers = *static_cast<std::vector<unsigned>*>(t.argument);
  const unsigned odd = t.index % 2;
  answers[t.index] = service.block_barrier(weir_barrier_count, odd * 17) * 1000 +
                     service.block_barrier(weir_barrier_and, odd) * 100 +
                     service.block_barrier(weir_barrier_and, 1) * 10 +
                     service.block_barrier(weir_barrier_or, odd);
  answers[t.index] += service.block_barrier(weir_barrier_or, 0) * 100000;
}
TEST_F(KernelBarrier, ABarrierCountsPredicates) {
  std::vector<unsigned> answers(50);
  ASSERT_EQ(run(waiting<vote>, {1, 1, 1}, {50, 1, 1}, &answers), CUDA_SUCCESS);
  EXPECT_THAT(answers, testing::Each(25 * 1000 + 0 + 10 + 1));
}

// Threads that wait at different barriers deadlock; a GPU would hang, this launch fails.
void wait_apart(const thread_of& t) {
  if (t.index % 2 == 0) {
    service.block_barrier(weir_barrier_plain, 0);
  } else {
    service.warp_barrier(1);
  }
}
TEST_F(KernelBarrier, ADeadlockFailsTheLaunch) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run(waiting<wait_apart>, {1, 1, 1}, {8, 1, 1}), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("wait for each other for ever"));
  rounds r;  // the host thread runs later launches
  EXPECT_EQ(run(waiting<go_round>, {3, 1, 1}, {8, 1, 1}, &r), CUDA_SUCCESS);
}

TEST_F(KernelBarrier, AKernelCompiledWithoutBarriersMayNotWait) {
  rounds r;
  testing::internal::CaptureStderr();
  EXPECT_EQ(run(loop<go_round>, {1, 1, 1}, {8, 1, 1}, &r), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("says that it does not"));
}

// Threads run in the order of their indices, or in a random order that depends only on the seed.
void note_order(const thread_of& t) {
  auto& order = *static_cast<std::vector<unsigned>*>(t.argument);
  order.push_back(t.index);
  service.block_barrier(weir_barrier_plain, 0);
  order.push_back(t.index);
}
void note_once(const thread_of& t) {
  static_cast<std::vector<unsigned>*>(t.argument)->push_back(t.index);
}

TEST_F(KernelBarrier, ThreadsRunInOrderByDefault) {
  std::vector<unsigned> order;
  ASSERT_EQ(run(waiting<note_order>, {1, 1, 1}, {40, 1, 1}, &order), CUDA_SUCCESS);
  std::vector<unsigned> by_index(40);
  std::iota(by_index.begin(), by_index.end(), 0u);
  EXPECT_TRUE(std::equal(by_index.begin(), by_index.end(), order.begin()));
  EXPECT_TRUE(std::equal(by_index.begin(), by_index.end(), order.begin() + 40));
}

TEST_F(KernelBarrier, ThreadsRunInARandomOrderIfConfigured) {
  kernel::configure({true, 3});
  for (const weir_kernel* what : {&waiting<note_order>, &loop<note_once>}) {
    std::vector<unsigned> order;
    ASSERT_EQ(run(*what, {1, 1, 1}, {40, 1, 1}, &order), CUDA_SUCCESS);
    EXPECT_FALSE(std::ranges::is_sorted(order.begin(), order.begin() + 40));
    std::sort(order.begin(), order.begin() + 40);
    for (unsigned i = 0; i < 40; ++i) EXPECT_EQ(order[i], i);
  }
}

}  // namespace
}  // namespace weir::embedded
