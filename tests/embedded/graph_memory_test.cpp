// graph_memory_test.cpp - memory that graphs allocate: where it is, how long it lives, who may use and free it.
#include "graph_memory_fixture.hpp"

#include <array>
#include <memory>

namespace weir::embedded {
namespace {

class GraphMemory : public graph_memory_test {};

constexpr std::size_t kilo = 1024;

// What a node frees, a later one of the graph gets again; one that may run beside it does not.
TEST_F(GraphMemory, ANodeReusesWhatCameBefore) {
  test_graph g;
  const allocated a = add_alloc(g, 8 * kilo);
  const CUgraphNode freed = add_free(g, a.at, {a.node});
  const CUgraphNode between = g.add_empty({freed});
  const allocated beside = add_alloc(g, 8 * kilo, {a.node});
  const allocated larger = add_alloc(g, 16 * kilo, {between});
  const allocated again = add_alloc(g, 4 * kilo, {between});
  EXPECT_NE(beside.at, a.at);
  EXPECT_NE(larger.at, a.at);
  EXPECT_EQ(again.at, a.at);
  // It has one owner at a time, and can be freed again.
  EXPECT_NE(add_alloc(g, kilo, {between}).at, a.at);
  add_free(g, a.at, {again.node});
  EXPECT_EQ(try_add_free(g, a.at, {again.node}), CUDA_ERROR_INVALID_VALUE);
}

// Launches of one executable are ordered, so they share what they allocate; of several they do not.
TEST_F(GraphMemory, LaunchesInFlightDoNotMeet) {
  constexpr unsigned graphs = 6;
  constexpr unsigned rounds = 40;
  test_words seen{graphs * rounds};
  test_words turn{graphs};
  std::array<test_stream, 3> streams;
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
    held gate{streams[0]};
    for (unsigned round = 0; round < rounds; ++round) {
      for (unsigned i = 0; i < graphs; ++i) {
        CUstream in = streams[(i + round) % streams.size()];
        execs[i]->launch(in);
        EXPECT_EQ(driver.cuMemcpyAsync(seen.at(round * graphs + i), turn.at(i), 4, in), CUDA_SUCCESS);
      }
    }
    EXPECT_LE(used(), graphs * 256 * kilo + chunk());
  }
  for (const test_stream& s : streams) s.synchronize();
  for (unsigned i = 0; i < graphs * rounds; ++i) EXPECT_EQ(seen[i], i % graphs + 1);
}

// What a launch leaves behind outlives graph, executable and stream, with the work that writes it still to come.
TEST_F(GraphMemory, OutlivesWhatMadeIt) {
  enum part { of_graph, of_exec, of_stream };
  std::array<part, 3> order{of_graph, of_exec, of_stream};
  do {
    auto s = std::make_unique<test_stream>();
    auto g = std::make_unique<test_graph>();
    const allocated block = add_alloc(*g, 64 * kilo);
    g->add_set(block.at, 7, {block.node});
    auto x = std::make_unique<test_exec>(*g);
    {
      held gate{*s};
      x->launch(*s);
      for (const part each : order) {
        if (each == of_graph) g.reset();
        if (each == of_exec) x.reset();
        if (each == of_stream) s.reset();
      }
      gate.open();
    }
    EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(read(block.at), 7u);
    EXPECT_EQ(driver.cuMemFree_v2(block.at), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemFree_v2(block.at), CUDA_ERROR_INVALID_VALUE);
  } while (std::ranges::next_permutation(order).found);
}

// The free in a stream comes after what the stream does with the memory, though nobody else knows the memory any more.
TEST_F(GraphMemory, AFreeInOrderComesAfterTheWork) {
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
    held gate{s};
    EXPECT_EQ(driver.cuMemcpyAsync(seen.at(0), at, 4, s), CUDA_SUCCESS);
    EXPECT_EQ(free_in(s, at), CUDA_SUCCESS);
    gate.open();
  }
  s.synchronize();
  EXPECT_EQ(seen[0], 5u);
}

// So does the next launch, in another stream, that allocates it again.
TEST_F(GraphMemory, ALaunchComesAfterTheFree) {
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
    held gate{t};
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

// And a launch of the graph's next executable, though the one before is gone, with its launch under way.
TEST_F(GraphMemory, ExecutablesOfAGraphDoNotMeet) {
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
  // When this has run, the other would have begun, too.
  EXPECT_EQ(driver.cuLaunchHostFunc(
                u, [](void*) {}, nullptr),
            CUDA_SUCCESS);
  u.synchronize();
  open.set(0, 1);
  s.synchronize();
  t.synchronize();
  EXPECT_EQ(of_memory.most, 1);
}

// Memory that is freed by a call ends at once, though work may still be on its way to it.
TEST_F(GraphMemory, AFreeByTheHostHarmsNoWork) {
  test_stream s;
  CUdeviceptr at = 0;
  held gate{s};
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

// Before the launch and after the free it is no memory, but for graphs.
TEST_F(GraphMemory, SetsAndCopiesRefuseWhatIsNotLive) {
  test_stream s;
  test_words word{1};
  test_graph g;
  const allocated block = add_alloc(g, 4 * kilo);
  const auto refused = [&](CUresult expected) {
    CUdeviceptr base = 0;
    EXPECT_EQ(driver.cuMemsetD32Async(block.at, 1, 1, s), expected);
    EXPECT_EQ(driver.cuMemsetD8_v2(block.at, 1, 4), expected);
    EXPECT_EQ(driver.cuMemcpyDtoHAsync_v2(words_at(word.at(0)), block.at, 4, s), expected);
    EXPECT_EQ(driver.cuMemcpyHtoDAsync_v2(block.at, words_at(word.at(0)), 4, s), expected);
    EXPECT_EQ(driver.cuMemcpyDtoD_v2(block.at + 64, block.at, 4), expected);
    EXPECT_EQ(driver.cuMemGetAddressRange_v2(&base, nullptr, block.at) == CUDA_SUCCESS, expected == CUDA_SUCCESS);
    s.synchronize();
  };
  refused(CUDA_ERROR_INVALID_VALUE);
  test_graph user;  // another graph may be told of it all the same
  user.add_set(block.at + 4, 3);
  CUgraphNode none = nullptr;
  const CUDA_MEMSET_NODE_PARAMS beyond{block.at, 0, 1, 4, kilo + 1, 1};
  EXPECT_EQ(driver.cuGraphAddMemsetNode(&none, user, nullptr, 0, &beyond, current_context()), CUDA_ERROR_INVALID_VALUE);
  test_exec x{g};
  test_exec y{user};
  x.launch(s);
  refused(CUDA_SUCCESS);
  y.launch(s);
  s.synchronize();
  EXPECT_EQ(read(block.at + 4), 3u);
  EXPECT_EQ(driver.cuMemsetD32_v2(block.at, 1, kilo + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(free_in(s, block.at + 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(free_in(s, block.at), CUDA_SUCCESS);
  refused(CUDA_ERROR_INVALID_VALUE);
}

// What streams do in a capture they may do with memory that the capture allocates, and nodes tell of it as device memory.
TEST_F(GraphMemory, CapturesUseWhatTheyAllocate) {
  test_stream s;
  test_words word{2};
  CUdeviceptr p = 0;
  EXPECT_EQ(driver.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemAllocAsync(&p, 4 * kilo, s), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemsetD2D32Async(p, 64, 9, 2, 8, s), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemcpyDtoDAsync_v2(p + kilo, p, 512, s), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemcpyDtoHAsync_v2(words_at(word.at(0)), p + kilo + 448, 8, s), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFreeAsync(p + 4, s), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemFreeAsync(p, s), CUDA_SUCCESS);
  CUgraph made = nullptr;
  ASSERT_EQ(driver.cuStreamEndCapture(s, &made), CUDA_SUCCESS);
  test_graph g{made};
  EXPECT_EQ(g.edges(), "0>1 1>2 2>3 3>4");
  test_graph::nodes all(5);
  std::size_t count = all.size();
  EXPECT_EQ(driver.cuGraphGetNodes(g, all.data(), &count), CUDA_SUCCESS);
  CUDA_MEMCPY3D copy{};
  EXPECT_EQ(driver.cuGraphMemcpyNodeGetParams(all[2], &copy), CUDA_SUCCESS);
  EXPECT_EQ(copy.srcMemoryType, CU_MEMORYTYPE_DEVICE);
  EXPECT_EQ(copy.srcDevice, p);
  EXPECT_EQ(copy.dstMemoryType, CU_MEMORYTYPE_DEVICE);
  test_exec x{g};
  x.launch(s);
  s.synchronize();
  EXPECT_EQ(word[0], 9u);
  EXPECT_EQ(word[1], 9u);
}

// A capture may free what another graph left behind.
TEST_F(GraphMemory, ACaptureFreesWhatAnotherGraphLeft) {
  test_stream s;
  test_graph g;
  const allocated block = add_alloc(g, kilo);
  test_exec x{g};
  EXPECT_EQ(driver.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFreeAsync(block.at, s), CUDA_SUCCESS);
  CUgraph made = nullptr;
  ASSERT_EQ(driver.cuStreamEndCapture(s, &made), CUDA_SUCCESS);
  {
    test_graph freeing{made};
    test_exec y{freeing};
    EXPECT_EQ(launch(y, s), CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(launch(x, s), CUDA_SUCCESS);
      EXPECT_EQ(launch(x, s), CUDA_ERROR_INVALID_VALUE);
      EXPECT_EQ(launch(y, s), CUDA_SUCCESS);
      EXPECT_EQ(launch(y, s), CUDA_ERROR_INVALID_VALUE);
    }
    EXPECT_EQ(try_add_free(g, block.at, {block.node}), CUDA_ERROR_INVALID_VALUE);
  }
  // With that graph its claim is gone.
  add_free(g, block.at, {block.node});
}

// An executable that is updated has the memory of the other graph, which it then is the only executable of.
TEST_F(GraphMemory, AnUpdateChangesTheMemory) {
  test_stream s;
  test_graph a;
  test_graph b;
  const allocated in_a = add_alloc(a, kilo);
  a.add_set(in_a.at, 1, {in_a.node});
  const allocated in_b = add_alloc(b, kilo);
  b.add_set(in_b.at, 2, {in_b.node});
  test_exec x{a};
  CUgraphExecUpdateResultInfo result{};
  EXPECT_EQ(driver.cuGraphExecUpdate_v2(x, a, &result), CUDA_SUCCESS);
  {
    test_exec other{b};
    EXPECT_EQ(driver.cuGraphExecUpdate_v2(x, b, &result), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  }
  EXPECT_EQ(driver.cuGraphExecUpdate_v2(x, b, &result), CUDA_SUCCESS);
  CUgraphExec none = nullptr;
  EXPECT_EQ(driver.cuGraphInstantiateWithFlags(&none, b, 0), CUDA_ERROR_NOT_SUPPORTED);
  test_exec again{a};
  x.launch(s);
  again.launch(s);
  s.synchronize();
  EXPECT_EQ(read(in_a.at), 1u);
  EXPECT_EQ(read(in_b.at), 2u);
  EXPECT_EQ(free_in(s, in_a.at), CUDA_SUCCESS);
  EXPECT_EQ(free_in(s, in_b.at), CUDA_SUCCESS);
}

// A graph that became part of another takes its rules along.
TEST_F(GraphMemory, AChildsMemoryIsTheWholeGraphs) {
  test_stream s;
  test_graph parent;
  CUgraph child = nullptr;
  ASSERT_EQ(driver.cuGraphCreate(&child, 0), CUDA_SUCCESS);
  const allocated block = add_alloc(child, kilo);
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  params.graph.graph = child;
  params.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
  CUgraphNode node = nullptr;
  ASSERT_EQ(driver.cuGraphAddNode_v2(&node, parent, nullptr, nullptr, 0, &params), CUDA_SUCCESS);
  parent.add_set(block.at, 4, {node});
  CUgraph copy = nullptr;
  EXPECT_EQ(driver.cuGraphClone(&copy, parent), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(driver.cuGraphDestroyNode(node), CUDA_ERROR_NOT_SUPPORTED);
  test_exec x{parent};
  CUgraphExec second = nullptr;
  EXPECT_EQ(driver.cuGraphInstantiateWithFlags(&second, parent, 0), CUDA_ERROR_NOT_SUPPORTED);
  x.launch(s);
  s.synchronize();
  EXPECT_EQ(read(block.at), 4u);
  EXPECT_EQ(launch(x, s), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(free_in(s, block.at), CUDA_SUCCESS);
}

// Of threads that free the same memory one does, and launches go on beside frees, trims and destructions.
TEST_F(GraphMemory, ThreadsFreeOnce) {
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

TEST_F(GraphMemory, ThreadsHaveTheirOwn) {
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
