// SPDX-License-Identifier: Apache-2.0
// branch_assignment_test.cpp - which nodes of a graph get their own branch, and in which orders
// they run.
#include "embedded/model/graph/branch_assignment.hpp"

#include "graph_fixture.hpp"

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "embedded/model/core/process.hpp"
#include "embedded/model/graph/graph.hpp"

namespace weir::embedded {
namespace {

using model::branch_assignment;
using model::branch_options;

using BranchAssignment = memory_test;

constexpr std::size_t long_bytes = 1 << 20;
constexpr branch_options four_workers{.workers = 4, .node_by_node = false, .seed = {}};

model::flat_graph flat(const built_graph& of) {
  return model::flat_graph{
      model::this_process().graphs.find(static_cast<CUgraph>(of))->topological_order()};
}

branch_assignment choose(const built_graph& of,
                         const branch_options& assignment_options = four_workers) {
  return assign_branches(flat(of), assignment_options);
}

void do_nothing(void*) {}

// Returns true if the order has each node once, after its dependencies.
bool is_order(const model::flat_graph& of, const std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> position(of.outer_node_count(), of.outer_node_count());
  for (std::uint32_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  for (std::uint32_t node = 0; node < of.outer_node_count(); ++node) {
    if (position[node] == of.outer_node_count()) return false;
    for (const std::uint32_t before : of.dependencies_of(node)) {
      if (position[before] > position[node]) return false;
    }
  }
  return order.size() == of.outer_node_count();
}

TEST_F(BranchAssignment, AChainOfAnyLengthIsOneBranch) {
  const pinned_block block{long_bytes};
  test_graph g;
  test_graph::nodes last;
  for (int i = 0; i < 64; ++i)
    last = {i % 2 == 0 ? g.add_copy(block.address(), block.address() + long_bytes / 2,
                                    long_bytes / 2, last)
                       : g.add_host(do_nothing, nullptr, last)};
  EXPECT_EQ(choose(g).branches, 1u);
}

TEST_F(BranchAssignment, SmallGraphsAreNotParallelized) {
  test_words words{1000};
  test_graph g;
  for (std::size_t i = 0; i < 1000; ++i) g.add_set(words.at(i), 1);
  EXPECT_EQ(choose(g).branches, 1u);
}

// With copies of equal length, all workers get equal shares, except for the dispatch overhead.
TEST_F(BranchAssignment, LargeGraphsUseAllWorkers) {
  const pinned_block block{2 * long_bytes};
  test_graph g;
  for (int i = 0; i < 64; ++i)
    g.add_copy(block.address(), block.address() + long_bytes, long_bytes);
  const branch_assignment chosen = choose(g);
  ASSERT_EQ(chosen.branches, 4u);
  for (std::uint32_t branch = 0; branch < 4; ++branch) {
    const auto nodes = std::ranges::count(chosen.branch_of, branch);
    EXPECT_TRUE(nodes >= 15 && nodes <= 17) << nodes << " in branch " << branch;
  }
}

// A chain stays in its branch, because crossing between branches costs time.
TEST_F(BranchAssignment, AChainStaysInOneBranch) {
  const pinned_block block{2 * long_bytes};
  test_graph g;
  std::vector<test_graph::nodes> chains(4);
  for (int i = 0; i < 8; ++i) {
    for (test_graph::nodes& last : chains)
      last = {g.add_copy(block.address(), block.address() + long_bytes, long_bytes, last)};
  }
  const model::flat_graph nodes = flat(g);
  const branch_assignment chosen = assign_branches(nodes, four_workers);
  EXPECT_EQ(chosen.branches, 4u);
  for (std::uint32_t node = 0; node < nodes.outer_node_count(); ++node) {
    for (const std::uint32_t before : nodes.dependencies_of(node))
      EXPECT_EQ(chosen.branch_of[before], chosen.branch_of[node]);
  }
}

TEST_F(BranchAssignment, IndependentHostFunctionsShareABranch) {
  test_words words{1};
  test_graph g;
  g.add_set(words.at(0), 1);
  for (int i = 0; i < 100; ++i) g.add_host(do_nothing, nullptr);
  EXPECT_EQ(choose(g).branches, 2u);
}

// The engine may choose any independent node as the first.
TEST_F(BranchAssignment, IndependentNodesHaveTheirOwnBranchesNodeByNode) {
  test_words words{8};
  test_graph g;
  for (std::size_t i = 0; i < 8; ++i) g.add_set(words.at(i), 1);
  EXPECT_EQ(choose(g, {.workers = 1, .node_by_node = true, .seed = {}}).branches, 8u);
}

// A host function behind a wait may be delayed; a host function without dependencies is not put
// behind it.
TEST_F(BranchAssignment, NoHostFunctionIsBlockedByAWaitingHostFunction) {
  test_words words{1};
  test_graph g;
  const CUgraphNode first = g.add_host(do_nothing, nullptr, {});
  const CUgraphNode wait = g.add_wait(words.at(0), {});
  g.add_host(do_nothing, nullptr, {first, wait});
  g.add_host(do_nothing, nullptr, {});
  const branch_assignment chosen = choose(g, {.workers = 2, .node_by_node = false, .seed = {}});
  const auto position = [&](std::uint32_t node) {
    return std::ranges::find(chosen.sequence, node);
  };
  EXPECT_TRUE(chosen.branch_of[3] != chosen.branch_of[2] || position(3) < position(2));
}

TEST_F(BranchAssignment, ASeedDeterminesTheOrder) {
  test_graph g;
  for (int i = 0; i < 100; ++i) g.add_empty();
  const model::flat_graph nodes = flat(g);
  EXPECT_EQ(random_order(nodes, 1), random_order(nodes, 1));
  EXPECT_NE(random_order(nodes, 1), random_order(nodes, 2));
}

// Three nodes with one dependency: the seeds produce all valid orders.
TEST_F(BranchAssignment, SeedsProduceAllValidOrders) {
  test_graph g;
  g.add_empty({g.add_empty()});
  g.add_empty();
  const model::flat_graph nodes = flat(g);
  std::set<std::vector<std::uint32_t>> seen;
  for (std::uint64_t seed = 0; seed < 64; ++seed) seen.insert(random_order(nodes, seed));
  EXPECT_EQ(seen.size(), 3u);
  for (const auto& order : seen) EXPECT_TRUE(is_order(nodes, order));
}

RC_GTEST_FIXTURE_PROP(BranchAssignment, BranchesFollowTheOrderOfTheGraph, ()) {
  const pinned_block block{2 * long_bytes};
  test_words words{1};
  test_graph g;
  test_graph::nodes nodes;
  const auto count = *rc::gen::inRange<std::size_t>(1, 40);
  for (std::size_t i = 0; i < count; ++i) {
    test_graph::nodes behind;
    for (const CUgraphNode before : nodes) {
      if (*rc::gen::inRange(0, 6) == 0) behind.push_back(before);
    }
    switch (*rc::gen::inRange(0, 4)) {
      case 0: nodes.push_back(g.add_host(do_nothing, nullptr, behind)); break;
      case 1: nodes.push_back(g.add_wait(words.at(0), behind)); break;
      case 2: nodes.push_back(g.add_empty(behind)); break;
      default:
        nodes.push_back(
            g.add_copy(block.address(), block.address() + long_bytes, long_bytes, behind));
        break;
    }
  }
  const model::flat_graph all = flat(g);
  branch_options rules;
  rules.workers = *rc::gen::inRange(1u, 5u);
  rules.node_by_node = *rc::gen::arbitrary<bool>();
  if (rules.node_by_node && *rc::gen::arbitrary<bool>())
    rules.seed = *rc::gen::arbitrary<std::uint64_t>();
  const branch_assignment chosen = assign_branches(all, rules);
  RC_ASSERT(is_order(all, chosen.sequence));
  RC_ASSERT(std::ranges::all_of(chosen.branch_of,
                                [&](std::uint32_t branch) { return branch < chosen.branches; }));
  for (std::uint32_t branch = 0; branch < chosen.branches; ++branch)
    RC_ASSERT(std::ranges::count(chosen.branch_of, branch) > 0);
}

}  // namespace
}  // namespace weir::embedded
