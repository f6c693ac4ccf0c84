// SPDX-License-Identifier: Apache-2.0
// graph_plan_test.cpp - executables as compiled plans: long chains, wide graphs, updates of all
// nodes.
#include "graph_fixture.hpp"

#include <cstring>

#include "embedded/core/out_of_memory.hpp"

namespace weir::embedded {
namespace {

using GraphPlan = memory_test;

// Records the calls of host functions; one at a time.
struct journal {
  std::vector<int> numbers;
};
struct entry {
  journal* in;
  int number;

  static void write(void* self) {
    const auto& me = *static_cast<const entry*>(self);
    me.in->numbers.push_back(me.number);
  }
};

// The chain has more host functions than run in one batch, with other work between them.
TEST_F(GraphPlan, ALongChainOfHostFunctionsRunsInOrder) {
  constexpr int count = 500;
  test_stream s;
  test_words words{1};
  journal calls;
  std::vector<entry> entries;
  for (int i = 0; i < count; ++i) entries.push_back({&calls, i});
  test_graph g;
  test_graph::nodes last;
  for (entry& e : entries) {
    last = {g.add_host(entry::write, &e, last)};
    if (e.number % 7 == 0) last = {g.add_set(words.at(0), static_cast<unsigned>(e.number), last)};
  }
  const test_exec run{g};
  for (int launch = 0; launch < 3; ++launch) run.launch(s);
  s.synchronize();
  ASSERT_EQ(calls.numbers.size(), 3u * count);
  for (int i = 0; i < 3 * count; ++i)
    ASSERT_EQ(calls.numbers[static_cast<std::size_t>(i)], i % count);
  EXPECT_EQ(words[0], 497u);
}

// The branches are long enough to run on several workers. In each, a second half copies the first;
// one last node follows all.
TEST_F(GraphPlan, AWideGraphCompletesBeforeLaterWork) {
  constexpr std::size_t branches = 16;
  constexpr std::size_t half = 256 * 1024;
  test_stream s;
  pinned_block block{2 * half * branches};
  test_words words{2};
  test_graph g;
  test_graph::nodes ends;
  std::vector<CUgraphNode> sets;
  for (std::size_t i = 0; i < branches; ++i) {
    const CUdeviceptr at = block.address() + 2 * half * i;
    const CUDA_MEMSET_NODE_PARAMS set{at, 0, static_cast<unsigned>(i + 1), 1, half, 1};
    CUgraphNode first = nullptr;
    ASSERT_EQ(driver.cuGraphAddMemsetNode(&first, g, nullptr, 0, &set, current_context()),
              CUDA_SUCCESS);
    sets.push_back(first);
    ends.push_back(g.add_copy(at + half, at, half, {first}));
  }
  // Copies the last byte of the last branch and that of the first.
  g.add_copy(words.at(0), block.address() + 2 * half * branches - 4, 4, ends);
  g.add_copy(words.at(1), block.address() + 2 * half - 4, 4, ends);
  const test_exec run{g};
  for (int launch = 0; launch < 5; ++launch) {
    std::memset(block.get(), 0, 2 * half * branches);
    words.clear();
    run.launch(s);
    s.synchronize();
    EXPECT_EQ(words[0], 0x10101010u);
    EXPECT_EQ(words[1], 0x01010101u);
    const auto* bytes = static_cast<const unsigned char*>(block.get());
    for (std::size_t i = 0; i < 2 * branches; ++i) {
      EXPECT_EQ(bytes[half * i], i / 2 + 1);
      EXPECT_EQ(bytes[half * (i + 1) - 1], i / 2 + 1);
    }
  }
}

// A graph with parallel branches is launched in two streams alternately: in all branches, a launch
// starts after the previous one has ended.
TEST_F(GraphPlan, LaunchesOfAWideGraphDoNotOverlap) {
  constexpr std::size_t branches = 8;
  constexpr std::size_t bytes = 128 * 1024;
  test_stream s;
  test_stream t;
  pinned_block block{(branches + 1) * bytes};
  const pinned_block beside{(branches + 1) * bytes};  // for work that runs on several workers
  std::memset(block.get(), 7, bytes);
  test_graph g;
  // Each launch moves all values by one position, last position first; a position that was read is
  // overwritten at once.
  test_graph::nodes behind;
  for (std::size_t i = branches; i > 0; --i) {
    const CUdeviceptr target_address = block.address() + i * bytes;
    behind = {g.add_copy(target_address, target_address - bytes, bytes, behind)};
    g.add_copy(beside.address() + i * bytes, beside.address(), bytes);
  }
  const test_exec run{g};
  for (std::size_t launch = 0; launch < branches; ++launch) run.launch(launch % 2 == 0 ? s : t);
  s.synchronize();
  t.synchronize();
  const auto* all = static_cast<const unsigned char*>(block.get());
  for (std::size_t i = 0; i <= branches; ++i) EXPECT_EQ(all[i * bytes + bytes - 1], 7) << i;
}

TEST_F(GraphPlan, AnUpdateChangesAllNodes) {
  constexpr std::size_t count = 100;
  test_stream s;
  test_words words{2 * count};
  const auto build = [&](const test_graph& g, std::size_t first, unsigned value) {
    test_graph::nodes last;
    for (std::size_t i = 0; i < count; ++i) last = {g.add_set(words.at(first + i), value, last)};
  };
  test_graph g;
  build(g, 0, 1);
  test_graph other;
  build(other, count, 2);
  const test_exec run{g};
  CUgraphExecUpdateResultInfo update_info{};
  ASSERT_EQ(driver.cuGraphExecUpdate_v2(run, other, &update_info), CUDA_SUCCESS);
  run.launch(s);
  s.synchronize();
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(words[i], 0u);
    EXPECT_EQ(words[count + i], 2u);
  }
}

// Nodes are matched by their edges if the other graph was built in another order.
TEST_F(GraphPlan, AnUpdateMatchesNodesByEdges) {
  test_stream s;
  test_words words{4};
  test_graph g;
  g.add_set(words.at(1), 1, {g.add_set(words.at(0), 1)});
  test_graph other;
  const CUgraphNode second = other.add_set(words.at(3), 2);
  const CUgraphNode first = other.add_word_copy(words.at(2), words.at(3));
  ASSERT_EQ(driver.cuGraphAddDependencies_v2(other, &first, &second, nullptr, 1), CUDA_SUCCESS);
  const test_exec run{g};
  CUgraphExecUpdateResultInfo update_info{};
  EXPECT_EQ(driver.cuGraphExecUpdate_v2(run, other, &update_info),
            CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(update_info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);

  test_graph third;
  const CUgraphNode behind = third.add_set(words.at(3), 3);
  const CUgraphNode before = third.add_set(words.at(2), 3);
  ASSERT_EQ(driver.cuGraphAddDependencies_v2(third, &before, &behind, nullptr, 1), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphExecUpdate_v2(run, third, &update_info), CUDA_SUCCESS);
  run.launch(s);
  s.synchronize();
  EXPECT_EQ(words[0], 0u);
  EXPECT_EQ(words[2], 3u);
  EXPECT_EQ(words[3], 3u);
}

// The update reaches the memset before the copy of two rows. If there is no memory for the copy, it
// changes neither.
TEST_F(GraphPlan, AnUpdateWithoutMemoryChangesNothing) {
  test_stream s;
  test_words words{1};
  pinned_block rows{256};
  const auto fill = [&](const test_graph& g, unsigned value) {
    const CUgraphNode set = g.add_set(words.at(0), value);
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy.srcDevice = rows.address();
    copy.dstDevice = rows.address() + 128;
    copy.srcPitch = copy.dstPitch = 64;
    copy.WidthInBytes = 4;
    copy.Height = 2;
    copy.Depth = 1;
    CUgraphNode made = nullptr;
    ASSERT_EQ(driver.cuGraphAddMemcpyNode(&made, g, &set, 1, &copy, current_context()),
              CUDA_SUCCESS);
  };
  test_graph old;
  test_graph other;
  fill(old, 1);
  fill(other, 2);
  const test_exec run{old};
  CUresult status = CUDA_ERROR_OUT_OF_MEMORY;
  for (int allocations = 0; status != CUDA_SUCCESS; ++allocations) {
    CUgraphExecUpdateResultInfo told{};
    {
      const out_of_memory now{allocations};
      status = driver.cuGraphExecUpdate_v2(run, other, &told);
    }
    if (allocations == 0) {
      EXPECT_EQ(status, CUDA_ERROR_OUT_OF_MEMORY);
    }
    run.launch(s);
    s.synchronize();
    ASSERT_EQ(words[0], status == CUDA_SUCCESS ? 2u : 1u)
        << "after " << allocations << " allocations";
  }
}

}  // namespace
}  // namespace weir::embedded
