// SPDX-License-Identifier: Apache-2.0
// graph_memory_launch_test.cpp - order between launches and the memory of their graphs, in streams
// and threads.
#include "graph_memory_fixture.hpp"

#include <array>
#include <memory>

namespace weir::embedded {
namespace {

class GraphMemoryLaunch : public graph_memory_test {};

// Copies 4 bytes by a batch, which does not wait between host memory, unlike cuMemcpyAsync.
void copy_word(CUdeviceptr to, CUdeviceptr from, CUstream stream) {
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  std::size_t bytes = 4;
  std::size_t first = 0;
  EXPECT_EQ(driver.cuMemcpyBatchAsync_v2(&to, &from, &bytes, 1, &attributes, &first, 1, stream),
            CUDA_SUCCESS);
}

// Launches of one executable are ordered, so they share their memory; launches of several
// executables do not.
TEST_F(GraphMemoryLaunch, LaunchesInFlightDoNotShareMemory) {
  constexpr unsigned graphs = 6;
  constexpr unsigned rounds = 40;
  test_words seen{graphs * rounds};
  test_words turn{graphs};
  std::array<test_stream, 3> streams;
  std::array<CUevent, graphs> turn_read{};
  for (CUevent& event : turn_read)
    EXPECT_EQ(driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  std::vector<std::unique_ptr<test_graph>> made;
  std::vector<std::unique_ptr<test_exec>> execs;
  for (unsigned i = 0; i < graphs; ++i) {
    const test_graph& g = *made.emplace_back(std::make_unique<test_graph>());
    const allocated block = add_alloc(g, 256 * kilo);
    const CUgraphNode set = g.add_set(block.at + 128 * kilo, i + 1, {block.node});
    const CUgraphNode copy = g.add_copy(turn.at(i), block.at + 128 * kilo, 4, {set});
    add_free(g, block.at, {copy});
    execs.push_back(std::make_unique<test_exec>(g));
  }
  {
    stream_gate gate{streams[0]};
    for (unsigned round = 0; round < rounds; ++round) {
      for (unsigned i = 0; i < graphs; ++i) {
        CUstream target_stream = streams[(i + round) % streams.size()];
        // A launch comes after the previous launch, not after later work of that launch's stream.
        EXPECT_EQ(driver.cuStreamWaitEvent(target_stream, turn_read[i], 0), CUDA_SUCCESS);
        execs[i]->launch(target_stream);
        copy_word(seen.at(round * graphs + i), turn.at(i), target_stream);
        EXPECT_EQ(driver.cuEventRecord(turn_read[i], target_stream), CUDA_SUCCESS);
      }
    }
    EXPECT_LE(used(), graphs * 256 * kilo + chunk());
  }
  for (const test_stream& s : streams) s.synchronize();
  for (unsigned i = 0; i < graphs * rounds; ++i) EXPECT_EQ(seen[i], i % graphs + 1);
  for (const CUevent event : turn_read) EXPECT_EQ(driver.cuEventDestroy_v2(event), CUDA_SUCCESS);
}

// A stream-ordered free comes after the stream's earlier work on the memory, even if no graph
// refers to it any more.
TEST_F(GraphMemoryLaunch, AStreamOrderedFreeComesAfterTheWork) {
  test_words seen{1};
  test_stream s;
  CUdeviceptr at = 0;
  {
    test_graph g;
    const allocated block = add_alloc(g, 128 * kilo);
    g.add_set(at = block.at, 5, {block.node});
    test_exec x{g};
    x.launch(s);
  }
  {
    stream_gate gate{s};
    EXPECT_EQ(driver.cuMemcpyAsync(seen.at(0), at, 4, s), CUDA_SUCCESS);
    EXPECT_EQ(free_in(s, at), CUDA_SUCCESS);
    gate.open();
  }
  s.synchronize();
  EXPECT_EQ(seen[0], 5u);
}

// The next launch, in another stream, allocates the memory again after the free.
TEST_F(GraphMemoryLaunch, ALaunchComesAfterTheFree) {
  test_words seen{1};
  test_stream s;
  test_stream t;
  test_graph g;
  const allocated block = add_alloc(g, 4 * kilo);
  test_words value{1};
  value.set(0, 1);
  g.add_copy(block.at, value.at(0), 4, {block.node});
  test_exec x{g};
  x.launch(s);
  s.synchronize();
  {
    stream_gate gate{t};
    EXPECT_EQ(driver.cuMemcpyAsync(seen.at(0), block.at, 4, t), CUDA_SUCCESS);
    EXPECT_EQ(free_in(t, block.at), CUDA_SUCCESS);
    value.set(0, 2);
    x.launch(s);
    EXPECT_EQ(driver.cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    gate.open();
  }
  s.synchronize();
  t.synchronize();
  EXPECT_EQ(seen[0], 1u);
  EXPECT_EQ(read(block.at), 2u);
  EXPECT_EQ(free_in(s, block.at), CUDA_SUCCESS);
}

// A launch of the graph's next executable comes after the previous executable's launch in flight,
// even if that executable is destroyed.
TEST_F(GraphMemoryLaunch, LaunchesOfTwoExecutablesOfAGraphDoNotOverlap) {
  struct users {
    std::atomic<int> now{0}, most{0};
    static void come(void* all) {
      auto& us = *static_cast<users*>(all);
      us.most = std::max<int>(us.most, ++us.now);
    }
    static void go(void* all) { --static_cast<users*>(all)->now; }
  } of_memory;
  test_words open{1};
  test_stream s;
  test_stream t;
  test_stream u;
  test_graph g;
  const allocated block = add_alloc(g, 4 * kilo);
  const CUgraphNode first = g.add_host(users::come, &of_memory, {block.node});
  const CUgraphNode last = g.add_host(users::go, &of_memory, {g.add_wait(open.at(0), {first})});
  add_free(g, block.at, {last});
  auto x = std::make_unique<test_exec>(g);
  x->launch(s);
  x.reset();
  test_exec y{g};
  y.launch(t);
  // Once this has run, the other launch would have started, too.
  EXPECT_EQ(driver.cuLaunchHostFunc(
                u, [](void*) {}, nullptr),
            CUDA_SUCCESS);
  u.synchronize();
  open.set(0, 1);
  s.synchronize();
  t.synchronize();
  EXPECT_EQ(of_memory.most, 1);
}

// A synchronous free takes effect at once, though pending work may still use the memory.
TEST_F(GraphMemoryLaunch, AFreeByTheHostDoesNotDisturbWork) {
  test_stream s;
  CUdeviceptr at = 0;
  stream_gate gate{s};
  {
    test_graph g;
    at = add_alloc(g, 512 * kilo).at;
    test_exec x{g};
    x.launch(s);
  }
  EXPECT_EQ(driver.cuMemsetD8Async(at, 1, 512 * kilo, s), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFree_v2(at), CUDA_SUCCESS);
  gate.open();
}

// If several threads free one allocation, one of them succeeds. Launches run concurrently with
// frees, trims and destructions.
TEST_F(GraphMemoryLaunch, ConcurrentThreadsFreeMemoryOnce) {
  test_stream s;
  test_graph g;
  const allocated block = add_alloc(g, 64 * kilo);
  test_exec x{g};
  CUcontext context = current_context();
  for (int round = 0; round < 50; ++round) {
    x.launch(s);
    std::atomic<int> freed{0};
    const auto free = [&] {
      EXPECT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
      if (free_in(s, block.at) == CUDA_SUCCESS) ++freed;
    };
    std::thread other{free};
    free();
    other.join();
    EXPECT_EQ(freed, 1);
  }
}

TEST_F(GraphMemoryLaunch, ThreadsHaveTheirOwnMemory) {
  CUcontext context = current_context();
  std::vector<std::thread> threads;
  for (unsigned id = 1; id <= 4; ++id) {
    threads.emplace_back([&, id] {
      EXPECT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
      test_stream s;
      test_words seen{1};
      for (int round = 0; round < 20; ++round) {
        CUdeviceptr left = 0;
        {
          test_graph g;
          const allocated own = add_alloc(g, id * 32 * kilo);
          const CUgraphNode set = g.add_set(own.at, id, {own.node});
          const CUgraphNode freed = add_free(g, own.at, {set});
          const allocated last = add_alloc(g, 80 * kilo, {freed});
          left = last.at;
          g.add_set(left, id + 1, {last.node});
          test_exec x{g};
          x.launch(s);
        }
        EXPECT_EQ(driver.cuMemcpyAsync(seen.at(0), left, 4, s), CUDA_SUCCESS);
        EXPECT_EQ(free_in(s, left), CUDA_SUCCESS);
        if (id == 4) trim();
        s.synchronize();
        EXPECT_EQ(seen[0], id + 1);
      }
    });
  }
  for (std::thread& each : threads) each.join();
}

}  // namespace
}  // namespace weir::embedded
