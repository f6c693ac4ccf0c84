// SPDX-License-Identifier: Apache-2.0
// user_object_test.cpp - how long graphs, executables and launches hold user objects.
#include "embedded/graph/graph_fixture.hpp"

#include <array>
#include <memory>

namespace weir::embedded {
namespace {

using UserObject = memory_test;

// An executable holds user objects until its last launch in flight has ended. Their destructors may
// not call the driver.
TEST_F(UserObject, AUserObjectLivesUntilItsLaunchesEnd) {
  test_stream s;
  static std::atomic<CUresult> answer;
  answer = CUDA_SUCCESS;
  CUuserObject object = nullptr;
  const auto destroy = [](void* ended) {
    CUgraph unwanted = nullptr;
    answer = driver.cuGraphCreate(&unwanted, 0);
    counter::count(ended);
  };
  counter ended;
  ASSERT_EQ(
      driver.cuUserObjectCreate(&object, &ended, destroy, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
      CUDA_SUCCESS);
  auto g = std::make_unique<test_graph>();
  g->add_empty();
  ASSERT_EQ(driver.cuGraphRetainUserObject(*g, object, 1, CU_GRAPH_USER_OBJECT_MOVE), CUDA_SUCCESS);
  test_exec run{*g};
  stream_gate gate{s};
  run.launch(s);
  g.reset();
  run.destroy();
  EXPECT_EQ(ended.calls, 0);
  gate.open();
  while (ended.calls == 0) std::this_thread::yield();
  EXPECT_EQ(answer, CUDA_ERROR_NOT_PERMITTED);
}

// User objects of child graphs are held, too. An update takes over those of the new graph.
TEST_F(UserObject, AUserObjectOfAChildGraphLivesAsLongAsTheExecutable) {
  std::array<counter, 2> ended;
  const auto make = [&](counter& end) {
    CUuserObject object = nullptr;
    EXPECT_EQ(driver.cuUserObjectCreate(&object, &end, counter::count, 1,
                                        CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
              CUDA_SUCCESS);
    test_graph inner;
    inner.add_empty();
    EXPECT_EQ(driver.cuGraphRetainUserObject(inner, object, 1, CU_GRAPH_USER_OBJECT_MOVE),
              CUDA_SUCCESS);
    auto outer = std::make_unique<test_graph>();
    CUgraphNode child = nullptr;
    EXPECT_EQ(driver.cuGraphAddChildGraphNode(&child, *outer, nullptr, 0, inner), CUDA_SUCCESS);
    return outer;
  };
  auto first = make(ended[0]);
  auto second = make(ended[1]);
  test_exec run{*first};
  first.reset();
  await_destructors();
  EXPECT_EQ(ended[0].calls, 0);
  CUgraphExecUpdateResultInfo info{};
  EXPECT_EQ(driver.cuGraphExecUpdate_v2(run, *second, &info), CUDA_SUCCESS);
  second.reset();
  await_destructors();
  EXPECT_EQ(ended[0].calls, 1);
  EXPECT_EQ(ended[1].calls, 0);
  run.destroy();
  await_destructors();
  EXPECT_EQ(ended[1].calls, 1);
}

}  // namespace
}  // namespace weir::embedded
