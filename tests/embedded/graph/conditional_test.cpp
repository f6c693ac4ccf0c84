// SPDX-License-Identifier: Apache-2.0
// conditional_test.cpp - conditional nodes: which bodies run and when.
#include "conditional_fixture.hpp"

#include <rapidcheck/gtest.h>

#include <array>
#include <memory>

namespace weir::embedded {
namespace {

// A switch with eight bodies runs the body of that number; a larger value runs none.
TEST_F(Conditional, ASwitchOfEightRunsOneBody) {
  test_stream s;
  for (unsigned value = 0; value < 10; ++value) {
    test_words words{9};
    test_graph g;
    const conditional of_eight{g, CU_GRAPH_COND_TYPE_SWITCH, 8, value};
    for (unsigned i = 0; i < 8; ++i) of_eight.bodies[i].add_set(words.at(i), 1);
    g.add_set(words.at(8), 1, {of_eight.node});
    const test_exec run{g};
    run.launch(s);
    s.synchronize();
    for (unsigned i = 0; i < 8; ++i)
      EXPECT_EQ(words[i], i == value ? 1u : 0u) << i << " of " << value;
    EXPECT_EQ(words[8], 1u);
  }
}

// Each nested conditional reads its own condition. Later nodes of the outer body run after the
// whole inner body.
TEST_F(Conditional, BodiesNest) {
  test_stream s;
  test_words words{5};
  test_graph g;
  const conditional outer{g, CU_GRAPH_COND_TYPE_IF, 1, 1};
  const conditional inner{outer.bodies[0], CU_GRAPH_COND_TYPE_IF, 2, 0};
  inner.bodies[0].add_set(words.at(0), 1);
  const conditional innermost{inner.bodies[1], CU_GRAPH_COND_TYPE_SWITCH, 3, 2};
  innermost.bodies[1].add_set(words.at(1), 1);
  innermost.bodies[2].add_set(words.at(2), 1);
  outer.bodies[0].add_word_copy(words.at(3), words.at(2), {inner.node});
  g.add_word_copy(words.at(4), words.at(3), {outer.node});
  const test_exec run{g};
  run.launch(s);
  s.synchronize();
  EXPECT_EQ(words[0], 0u);
  EXPECT_EQ(words[1], 0u);
  EXPECT_EQ(words[2], 1u);
  EXPECT_EQ(words[3], 1u);
  EXPECT_EQ(words[4], 1u);
}

// The edges, not the order of creation, determine the order in a body, also for child graphs in it.
TEST_F(Conditional, ABodyRunsInTheOrderOfItsEdges) {
  constexpr std::size_t links = 40;
  test_stream s;
  test_words words{links + 3};
  words.set(links + 2, 9);
  test_graph g;
  const conditional node{g, CU_GRAPH_COND_TYPE_IF, 1, 1};
  const built_graph body = node.bodies[0];
  test_graph child;
  child.add_word_copy(words.at(links), words.at(links + 2));
  CUgraphNode first = nullptr;
  std::vector<CUgraphNode> chain;
  for (std::size_t i = 0; i < links; ++i)
    chain.push_back(body.add_word_copy(words.at(i), words.at(i + 1)));
  ASSERT_EQ(driver.cuGraphAddChildGraphNode(&first, body, nullptr, 0, child), CUDA_SUCCESS);
  chain.push_back(first);
  for (std::size_t i = 0; i < links; ++i) {
    ASSERT_EQ(driver.cuGraphAddDependencies_v2(body, &chain[i + 1], &chain[i], nullptr, 1),
              CUDA_SUCCESS);
  }
  const test_exec run{g};
  run.launch(s);
  s.synchronize();
  EXPECT_EQ(words[0], 9u);
}

// A conditional node runs after its dependencies, and its dependents run after its body, whatever
// branches they are in.
TEST_F(Conditional, ABodyIsOrderedWithItsNode) {
  test_stream s;
  test_words words{4};
  test_graph g;
  const CUgraphNode wait = g.add_wait(words.at(0));
  const conditional node{g, CU_GRAPH_COND_TYPE_IF, 1, 1, {wait}};
  node.bodies[0].add_set(words.at(1), 1);
  g.add_word_copy(words.at(2), words.at(1), {node.node});
  g.add_set(words.at(3), 1);
  const test_exec run{g};
  run.launch(s);
  words.await(3, 1);
  EXPECT_EQ(words[1], 0u);
  words.set(0, 1);
  s.synchronize();
  EXPECT_EQ(words[2], 1u);
}

// A launch in flight needs neither the graph, nor the executable, nor the owner of its user
// objects.
TEST_F(Conditional, GraphsAndExecutablesMayBeDestroyedDuringALaunch) {
  static std::atomic<int> ended;
  ended = 0;
  test_stream s;
  test_words words{2};
  auto g = std::make_unique<test_graph>();
  const conditional outer{*g, CU_GRAPH_COND_TYPE_SWITCH, 2, 1};
  const conditional inner{outer.bodies[1], CU_GRAPH_COND_TYPE_IF, 2, 0};
  inner.bodies[1].add_set(words.at(0), 3);
  CUuserObject object = nullptr;
  ASSERT_EQ(driver.cuUserObjectCreate(
                &object, nullptr, [](void*) { ++ended; }, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
            CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphRetainUserObject(inner.bodies[1], object, 1, CU_GRAPH_USER_OBJECT_MOVE),
            CUDA_SUCCESS);
  test_exec run{*g};
  stream_gate gate{s};
  run.launch(s);
  run.launch(s);
  g.reset();
  run.destroy();
  // New objects reuse the freed entries.
  test_graph other_graph;
  const conditional unrelated{other_graph, CU_GRAPH_COND_TYPE_IF, 1, 0};
  unrelated.bodies[0].add_set(words.at(1), 1);
  const test_exec never{other_graph};
  await_destructors();
  EXPECT_EQ(ended, 0);
  gate.open();
  s.synchronize();
  EXPECT_EQ(words[0], 3u);
  EXPECT_EQ(words[1], 0u);
  while (ended == 0) std::this_thread::yield();
}

// A random graph of sets and conditional nodes, with two values for each condition.
struct nest_node {
  bool behind_the_last = false;
  std::size_t word = 0;  // the word that it sets, if it has no bodies
  CUgraphConditionalNodeType type = CU_GRAPH_COND_TYPE_IF;
  std::array<unsigned, 2> values{};
  std::vector<std::vector<nest_node>> bodies;
};
using nest = std::vector<nest_node>;

nest make_nest(int depth, std::size_t& words) {
  nest made(*rc::gen::inRange<std::size_t>(0, 6));
  for (nest_node& node : made) {
    node.behind_the_last = *rc::gen::inRange(0, 2) == 0;
    if (depth == 0 || *rc::gen::inRange(0, 2) == 0) {
      node.word = words++;
      continue;
    }
    node.type = static_cast<CUgraphConditionalNodeType>(*rc::gen::inRange(0, 3));
    // An endless loop must not start.
    const bool loop = node.type == CU_GRAPH_COND_TYPE_WHILE;
    for (unsigned& value : node.values) value = loop ? 0 : *rc::gen::inRange(0u, 5u);
    const std::size_t most = loop ? 1 : node.type == CU_GRAPH_COND_TYPE_IF ? 2 : 4;
    node.bodies.resize(*rc::gen::inRange<std::size_t>(1, most + 1));
    for (nest& body : node.bodies) body = make_nest(depth - 1, words);
  }
  return made;
}

void build(const built_graph& g, const nest& of, std::size_t version, const test_words& words) {
  CUgraphNode last = nullptr;
  for (const nest_node& node : of) {
    const nodes behind = last != nullptr && node.behind_the_last ? nodes{last} : nodes{};
    if (node.bodies.empty()) {
      last = g.add_set(words.at(node.word), 1, behind);
      continue;
    }
    const conditional made{g, node.type, static_cast<unsigned>(node.bodies.size()),
                           node.values[version], behind};
    for (std::size_t i = 0; i < node.bodies.size(); ++i)
      build(made.bodies[i], node.bodies[i], version, words);
    last = made.node;
  }
}

// Computes which words the graph sets.
void expect(const nest& of, std::size_t version, std::vector<bool>& set) {
  for (const nest_node& node : of) {
    if (node.bodies.empty()) {
      set[node.word] = true;
      continue;
    }
    const unsigned value = node.values[version];
    std::size_t chosen = value;
    if (node.type == CU_GRAPH_COND_TYPE_IF) chosen = value != 0 ? 0 : 1;
    if (node.type != CU_GRAPH_COND_TYPE_WHILE && chosen < node.bodies.size())
      expect(node.bodies[chosen], version, set);
  }
}

// A launch runs exactly the memsets that the condition values select, also after an update.
RC_GTEST_FIXTURE_PROP(Conditional, ExactlyTheChosenBranchesRun, ()) {
  std::size_t count = 0;
  const nest of = make_nest(4, count);
  test_stream s;
  test_words words{count + 1};
  test_graph first;
  build(first, of, 0, words);
  test_graph second;
  build(second, of, 1, words);
  const test_exec run{first};
  for (const std::size_t version : {0, 0, 1}) {
    CUgraphExecUpdateResultInfo info{};
    if (version == 1) RC_ASSERT(driver.cuGraphExecUpdate_v2(run, second, &info) == CUDA_SUCCESS);
    words.clear();
    run.launch(s);
    EXPECT_EQ(driver.cuStreamSynchronize(s), CUDA_SUCCESS);
    std::vector<bool> set(count);
    expect(of, version, set);
    for (std::size_t i = 0; i < count; ++i) RC_ASSERT((words[i] == 1) == set[i]);
  }
}

}  // namespace
}  // namespace weir::embedded
