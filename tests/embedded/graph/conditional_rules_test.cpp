// SPDX-License-Identifier: Apache-2.0
// conditional_rules_test.cpp - what a body may contain, and who owns conditions and bodies.
#include "conditional_fixture.hpp"

#include <fstream>
#include <sstream>

#include "support/temporary_folder.hpp"

namespace weir::embedded {
namespace {

// Returns why a graph cannot be instantiated, and which node is the reason.
std::pair<CUgraphInstantiateResult, CUgraphNode> refusal_of(CUgraph g) {
  CUgraphExec made = nullptr;
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  EXPECT_EQ(driver.cuGraphInstantiateWithParams(&made, g, &params), CUDA_ERROR_INVALID_VALUE);
  return {params.result_out, params.hErrNode_out};
}

// Wrong arguments are refused at every call that creates or changes a conditional node, and leave
// nothing behind.
TEST_F(Conditional, InvalidArgumentsAreRefused) {
  test_graph g;
  test_graph other_graph;
  const CUgraphConditionalHandle condition = make_condition(g, 1);
  const auto add = [&](CUgraphNodeParams params) { return try_to_add(g, params); };
  const CUgraphNodeParams good = params_of(condition, CU_GRAPH_COND_TYPE_IF, 1);
  CUgraphNodeParams bad = good;
  bad.conditional.handle = make_condition(other_graph, 1);
  EXPECT_EQ(add(bad), CUDA_ERROR_INVALID_VALUE);
  bad.conditional.handle = reinterpret_cast<std::uintptr_t>(static_cast<CUgraph>(g));
  EXPECT_EQ(add(bad), CUDA_ERROR_INVALID_VALUE);
  bad = good;
  bad.reserved2 = 1;
  EXPECT_EQ(add(bad), CUDA_ERROR_INVALID_VALUE);
  bad = good;
  bad.reserved1[sizeof(CUDA_CONDITIONAL_NODE_PARAMS) / sizeof(long long)] = 1;
  EXPECT_EQ(add(bad), CUDA_ERROR_INVALID_VALUE);
  bad = good;
  bad.conditional.ctx = reinterpret_cast<CUcontext>(static_cast<CUgraph>(g));
  EXPECT_EQ(add(bad), CUDA_ERROR_INVALID_CONTEXT);
  bad.conditional.ctx = nullptr;
  EXPECT_EQ(add(bad), CUDA_ERROR_INVALID_CONTEXT);
  bad = good;
  bad.conditional.type = static_cast<CUgraphConditionalNodeType>(3);
  EXPECT_EQ(add(bad), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(g.size(), 0u);
  EXPECT_EQ(add(good), CUDA_SUCCESS);
  EXPECT_EQ(add(good), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(g.size(), 1u);
  CUgraphConditionalHandle unwanted = 0;
  EXPECT_EQ(
      driver.cuGraphConditionalHandleCreate(&unwanted, g, reinterpret_cast<CUcontext>(1), 0, 0),
      CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(unwanted, 0u);
}

// A condition belongs to its graph and to one node in it, at any depth. Destroying the node frees
// it for another; destroying the graph destroys it.
TEST_F(Conditional, AConditionBelongsToItsGraph) {
  test_graph g;
  const CUgraphConditionalHandle condition = make_condition(g, 1);
  const conditional node{g, condition, CU_GRAPH_COND_TYPE_IF, 1};
  const built_graph body = node.bodies[0];
  const CUgraphConditionalHandle of_body = make_condition(body, 1);
  {
    const conditional around{g, of_body, CU_GRAPH_COND_TYPE_IF, 1};
    EXPECT_EQ(try_to_add(g, params_of(of_body, CU_GRAPH_COND_TYPE_IF, 1)),
              CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(driver.cuGraphDestroyNode(around.node), CUDA_SUCCESS);
  }
  ASSERT_EQ(driver.cuGraphDestroyNode(node.node), CUDA_SUCCESS);
  EXPECT_EQ(try_to_add(g, params_of(of_body, CU_GRAPH_COND_TYPE_IF, 1)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(refusal_of(g).first, CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED);
  std::size_t count = 0;
  EXPECT_EQ(driver.cuGraphGetNodes(body, nullptr, &count),
            CUDA_ERROR_INVALID_VALUE);  // destroyed with its node
  // A node in a body of the graph may use the condition, too.
  const conditional again{g, CU_GRAPH_COND_TYPE_IF, 1, 1};
  EXPECT_EQ(try_to_add(again.bodies[0], params_of(condition, CU_GRAPH_COND_TYPE_IF, 1)),
            CUDA_SUCCESS);
  const test_exec run{g};
}

// Invalid nodes in a body are found at any depth, including child graphs; so are cycles and unused
// conditions.
TEST_F(Conditional, AnErrorNamesTheInvalidNodeAtAnyDepth) {
  test_graph g;
  const conditional outer{g, CU_GRAPH_COND_TYPE_SWITCH, 3, 0};
  const built_graph child = make_graph();
  move_into(outer.bodies[2], child);
  const conditional inner{child, CU_GRAPH_COND_TYPE_IF, 2, 0};
  const built_graph grandchild = make_graph();
  const CUgraphNode offender = grandchild.add_host([](void*) {}, nullptr);
  move_into(inner.bodies[1], grandchild);
  EXPECT_EQ(refusal_of(g),
            std::pair(CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED, offender));
  ASSERT_EQ(driver.cuGraphDestroyNode(offender), CUDA_SUCCESS);
  const CUgraphConditionalHandle unused = make_condition(grandchild, 1);
  EXPECT_EQ(refusal_of(g),
            std::pair(CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED, CUgraphNode{nullptr}));
  const conditional innermost{grandchild, unused, CU_GRAPH_COND_TYPE_IF, 1};
  CUgraphNode cycle[2] = {};
  ASSERT_EQ(driver.cuGraphAddEmptyNode(&cycle[0], innermost.bodies[0], nullptr, 0), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphAddEmptyNode(&cycle[1], innermost.bodies[0], &cycle[0], 1), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphAddDependencies_v2(innermost.bodies[0], &cycle[1], &cycle[0], nullptr, 1),
            CUDA_SUCCESS);
  const auto [why, at] = refusal_of(g);
  EXPECT_EQ(why, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
  EXPECT_THAT(cycle, testing::Contains(at));
  ASSERT_EQ(driver.cuGraphDestroyNode(at), CUDA_SUCCESS);
  const test_exec run{g};
}

// A graph with a conditional node at any depth cannot be cloned or used as a child, and has one
// executable at a time.
TEST_F(Conditional, AGraphWithAConditionalNodeHasNoCloneAndOneExecutable) {
  test_graph g;
  const built_graph child = make_graph();
  move_into(g, child);
  const conditional node{child, CU_GRAPH_COND_TYPE_IF, 1, 1};
  CUgraph copy = nullptr;
  EXPECT_EQ(driver.cuGraphClone(&copy, g), CUDA_ERROR_NOT_SUPPORTED);
  test_graph parent;
  CUgraphNode unwanted = nullptr;
  EXPECT_EQ(driver.cuGraphAddChildGraphNode(&unwanted, parent, nullptr, 0, g),
            CUDA_ERROR_NOT_SUPPORTED);
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  params.graph = {g, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE};
  EXPECT_EQ(try_to_add(parent, params), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(parent.size(), 0u);
  CUgraphExec second = nullptr;
  {
    const test_exec first{g};
    EXPECT_EQ(driver.cuGraphInstantiateWithFlags(&second, g, 0), CUDA_ERROR_NOT_SUPPORTED);
  }
  const test_exec again{g};
  EXPECT_EQ(driver.cuGraphInstantiateWithFlags(&second, node.bodies[0], 0),
            CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(driver.cuGraphDestroy(node.bodies[0]), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Conditional, ABodyIsNotDestroyedDuringACaptureIntoIt) {
  test_stream s;
  test_words words{1};
  test_graph g;
  const conditional outer{g, CU_GRAPH_COND_TYPE_IF, 1, 1};
  const conditional inner{outer.bodies[0], CU_GRAPH_COND_TYPE_IF, 1, 1};
  const built_graph body = inner.bodies[0];
  ASSERT_EQ(driver.cuStreamBeginCaptureToGraph(s, body, nullptr, nullptr, 0,
                                               CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroy(g), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(driver.cuMemsetD32Async(words.at(0), 1, 1, s), CUDA_SUCCESS);
  CUgraph made = nullptr;
  EXPECT_EQ(driver.cuStreamEndCapture(s, &made), CUDA_SUCCESS);
  EXPECT_EQ(made, body);
  const test_exec run{g};
  run.launch(s);
  s.synchronize();
  EXPECT_EQ(words[0], 1u);
}

bool is_there(CUgraph g) {
  std::size_t count = 0;
  return driver.cuGraphGetNodes(g, nullptr, &count) == CUDA_SUCCESS;
}

// A node may be destroyed during captures into its body and into a nested body. The orphaned body
// is destroyed with the last of these captures; the enclosing graph can be destroyed at once.
TEST_F(Conditional, ABodyOutlivesItsNodeWhileItIsCapturedInto) {
  test_stream s;
  test_stream t;
  test_words words{1};
  const CUgraph g = make_graph();
  const conditional outer{g, CU_GRAPH_COND_TYPE_IF, 2, 1};
  const conditional inner{outer.bodies[0], CU_GRAPH_COND_TYPE_IF, 1, 1};
  const auto begin = [](CUstream target_stream, CUgraph body) {
    return driver.cuStreamBeginCaptureToGraph(target_stream, body, nullptr, nullptr, 0,
                                              CU_STREAM_CAPTURE_MODE_RELAXED);
  };
  ASSERT_EQ(begin(s, outer.bodies[0]), CUDA_SUCCESS);
  ASSERT_EQ(begin(t, inner.bodies[0]), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroyNode(outer.node), CUDA_SUCCESS);
  EXPECT_FALSE(is_there(outer.bodies[1]));
  EXPECT_EQ(driver.cuGraphDestroy(outer.bodies[0]), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(driver.cuGraphDestroy(g), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemsetD32Async(words.at(0), 1, 1, s), CUDA_SUCCESS);
  CUgraph made = g;
  EXPECT_EQ(driver.cuStreamEndCapture(s, &made), CUDA_SUCCESS);
  EXPECT_EQ(made, nullptr);
  EXPECT_TRUE(is_there(inner.bodies[0]));
  EXPECT_EQ(driver.cuGraphDestroyNode(inner.node), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemsetD32Async(words.at(0), 1, 1, t), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamEndCapture(t, &made), CUDA_SUCCESS);
  EXPECT_EQ(made, nullptr);
  EXPECT_FALSE(is_there(inner.bodies[0]));
  EXPECT_FALSE(is_there(outer.bodies[0]));
}

// The enclosing graph is destroyed by the invalidated capture that it belongs to.
TEST_F(Conditional, ABodyOutlivesABrokenCaptureOfTheGraphAroundIt) {
  test_stream s;
  test_stream t;
  const CUgraph g = make_graph();
  const conditional node{g, CU_GRAPH_COND_TYPE_IF, 1, 1};
  ASSERT_EQ(
      driver.cuStreamBeginCaptureToGraph(s, g, nullptr, nullptr, 0, CU_STREAM_CAPTURE_MODE_RELAXED),
      CUDA_SUCCESS);
  ASSERT_EQ(driver.cuStreamBeginCaptureToGraph(t, node.bodies[0], nullptr, nullptr, 0,
                                               CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamSynchronize(s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUgraph made = nullptr;
  EXPECT_EQ(driver.cuStreamEndCapture(s, &made), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_FALSE(is_there(g));
  EXPECT_TRUE(is_there(node.bodies[0]));
  EXPECT_EQ(driver.cuStreamSynchronize(t), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(driver.cuStreamEndCapture(t, &made), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_FALSE(is_there(node.bodies[0]));
}

// An invalidated capture leaves the body empty, and the body can be captured into again.
TEST_F(Conditional, ABrokenCaptureEmptiesTheBody) {
  test_stream s;
  test_words words{1};
  test_graph g;
  const conditional node{g, CU_GRAPH_COND_TYPE_IF, 1, 1};
  const built_graph body = node.bodies[0];
  CUgraph made = nullptr;
  ASSERT_EQ(driver.cuStreamBeginCaptureToGraph(s, body, nullptr, nullptr, 0,
                                               CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemsetD32Async(words.at(0), 1, 1, s), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamSynchronize(s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(driver.cuStreamEndCapture(s, &made), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(made, nullptr);
  std::size_t count = 1;
  EXPECT_EQ(driver.cuGraphGetNodes(body, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 0u);
  ASSERT_EQ(driver.cuStreamBeginCaptureToGraph(s, body, nullptr, nullptr, 0,
                                               CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemsetD32Async(words.at(0), 2, 1, s), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamEndCapture(s, &made), CUDA_SUCCESS);
  const test_exec run{g};
  run.launch(s);
  s.synchronize();
  EXPECT_EQ(words[0], 2u);
}

// The DOT output of a graph includes the bodies.
TEST_F(Conditional, ADrawingShowsTheBodies) {
  test_words words{1};
  test_graph g;
  const conditional node{g, CU_GRAPH_COND_TYPE_SWITCH, 2, 0};
  node.bodies[1].add_set(words.at(0), 1);
  const weir::test::temporary_folder own;
  const std::string file = own.path() / "conditional.dot";
  ASSERT_EQ(driver.cuGraphDebugDotPrint(g, file.c_str(),
                                        CU_GRAPH_DEBUG_DOT_FLAGS_CONDITIONAL_NODE_PARAMS),
            CUDA_SUCCESS);
  std::ostringstream text;
  text << std::ifstream{file}.rdbuf();
  const std::string shown = text.str();
  EXPECT_THAT(shown, testing::HasSubstr("label=\"{\nCONDITIONAL\n| {ID | 0}\n"
                                        "| {Conditional Type| SWITCH}\n| {0|  graph_"));
  const std::string second = "\n| {1|  graph_";
  const std::size_t begin = shown.find(second);
  ASSERT_NE(begin, std::string::npos) << shown;
  const std::string number =
      shown.substr(begin + second.size(), shown.find('}', begin) - begin - second.size());
  EXPECT_THAT(shown, testing::HasSubstr("label=\"graph_" + number + "\""));
  EXPECT_THAT(shown, testing::HasSubstr("\"graph_" + number + "_node_0\"[style"));
}

}  // namespace
}  // namespace weir::embedded
