// SPDX-License-Identifier: Apache-2.0
// kernel_run_test.cpp - each thread of each block runs once, on as many host threads as are
// available.
#include "kernel_fixture.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>

namespace weir::embedded {
namespace {

using KernelRun = kernel_test;

void count(const thread_of& t) {
  auto& seen = *static_cast<std::vector<std::uint8_t>*>(t.argument);
  ++seen[place_of(t)];
}

TEST_F(KernelRun, EveryThreadRunsOnce) {
  for (const weir_extent grid : {weir_extent{1, 1, 1}, {7, 1, 1}, {3, 5, 2}, {4000, 1, 1}}) {
    for (const weir_extent block : {weir_extent{1, 1, 1}, {33, 1, 1}, {8, 4, 2}}) {
      const std::size_t threads =
          std::size_t{grid.x} * grid.y * grid.z * block.x * block.y * block.z;
      std::vector<std::uint8_t> seen(threads);
      EXPECT_EQ(run(loop<count>, grid, block, &seen), CUDA_SUCCESS);
      EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(seen, 1)), threads);
      EXPECT_EQ(run(waiting<count>, grid, block, &seen), CUDA_SUCCESS);
      EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(seen, 2)), threads);
    }
  }
}

// Records the block's index in the grid.
void tell_index(const thread_of& t) {
  auto& told = *static_cast<std::vector<weir_extent>*>(t.argument);
  told[place_of(t)] = t.block.index;
}
TEST_F(KernelRun, ABlockHasItsIndex) {
  std::vector<weir_extent> told(2 * 3 * 4);
  ASSERT_EQ(run(loop<tell_index>, {2, 3, 4}, {1, 1, 1}, &told), CUDA_SUCCESS);
  for (unsigned i = 0; i < told.size(); ++i) {
    EXPECT_EQ(told[i].x, i % 2);
    EXPECT_EQ(told[i].y, i / 2 % 3);
    EXPECT_EQ(told[i].z, i / 6);
  }
}

// A block may wait for an earlier block's write, whichever host threads run them.
void follow(const thread_of& t) {
  auto& done = *static_cast<std::atomic<unsigned>*>(t.argument);
  while (done.load() < t.block.index.x) std::this_thread::yield();
  done.fetch_add(1);
}
TEST_F(KernelRun, BlocksStartInOrder) {
  std::atomic<unsigned> done{0};
  ASSERT_EQ(run(loop<follow>, {50000, 1, 1}, {1, 1, 1}, &done), CUDA_SUCCESS);
  EXPECT_EQ(done.load(), 50000u);
}

// Each block has its own dynamic shared memory.
void use_shared(const thread_of& t) {
  auto& wrong = *static_cast<std::atomic<unsigned>*>(t.argument);
  auto* const words = reinterpret_cast<unsigned*>(t.block.shared);
  words[t.index] = t.block.index.x;
  service.block_barrier(weir_barrier_plain, 0);
  for (unsigned i = 0; i < t.block.shared_bytes / 4; ++i)
    wrong += words[i] != t.block.index.x ? 1 : 0;
  service.block_barrier(weir_barrier_plain, 0);
}
TEST_F(KernelRun, EachBlockHasSharedMemory) {
  std::atomic<unsigned> wrong{0};
  for (const unsigned threads : {1u, 64u, 1000u}) {
    EXPECT_EQ(run(waiting<use_shared>, {20, 1, 1}, {threads, 1, 1}, &wrong, threads * 4),
              CUDA_SUCCESS);
  }
  EXPECT_EQ(wrong.load(), 0u);
}

// The alignment of shared memory is at least what the ABI requires.
void look_where(const thread_of& t) {
  *static_cast<bool*>(t.argument) = reinterpret_cast<std::uintptr_t>(t.block.shared) % 128 == 0;
}
TEST_F(KernelRun, SharedMemoryIsAligned) {
  for (const unsigned bytes : {1u, 100u, 232448u}) {
    bool aligned = false;
    EXPECT_EQ(run(loop<look_where>, {1, 1, 1}, {1, 1, 1}, &aligned, bytes), CUDA_SUCCESS);
    EXPECT_TRUE(aligned) << bytes;
  }
}

// Memory of the device's heap outlives the launch, and the heap has a limit.
void take(const thread_of& t) { *static_cast<void**>(t.argument) = service.allocate(1000); }
void give(const thread_of& t) { service.free(*static_cast<void**>(t.argument)); }
void take_too_much(const thread_of& t) {
  *static_cast<void**>(t.argument) = service.allocate(std::uint64_t{1} << 40);
}
TEST_F(KernelRun, AKernelUsesTheHeap) {
  void* block = nullptr;
  ASSERT_EQ(run(loop<take>, {1, 1, 1}, {1, 1, 1}, &block), CUDA_SUCCESS);
  EXPECT_NE(block, nullptr);
  EXPECT_EQ(run(loop<give>, {1, 1, 1}, {1, 1, 1}, &block), CUDA_SUCCESS);
  EXPECT_EQ(run(loop<take_too_much>, {1, 1, 1}, {1, 1, 1}, &block), CUDA_SUCCESS);
  EXPECT_EQ(block, nullptr);
}

// Clocks advance.
void read_clocks(const thread_of& t) {
  auto& grew = *static_cast<bool*>(t.argument);
  const auto cycles = service.clock();
  const auto time = service.time();
  service.sleep(50'000);
  grew = service.clock() > cycles && service.time() >= time + 50'000;
}
TEST_F(KernelRun, ClocksAdvance) {
  bool grew = false;
  ASSERT_EQ(run(loop<read_clocks>, {1, 1, 1}, {1, 1, 1}, &grew), CUDA_SUCCESS);
  EXPECT_TRUE(grew);
}

}  // namespace
}  // namespace weir::embedded
