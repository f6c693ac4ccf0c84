// lane_choice_test.cpp - which nodes of a graph have a lane of their own, and in which orders they run.
#include "embedded/model/graph/lane_choice.hpp"

#include "graph_fixture.hpp"

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "embedded/model/graph/drawn_order.hpp"
#include "embedded/model/graph/graph.hpp"
#include "embedded/model/core/process.hpp"

namespace weir::embedded {
namespace {

using model::lane_choice;
using model::lane_rules;

using LaneChoice = memory_test;

constexpr std::size_t long_bytes = 1 << 20;
constexpr lane_rules four_workers{.workers = 4, .node_by_node = false, .seed = {}};

model::flat_graph flat(const built_graph& of) {
  return model::flat_graph{model::this_process().graphs.find(static_cast<CUgraph>(of))->in_order()};
}

lane_choice choose(const built_graph& of, const lane_rules& by = four_workers) { return choose_lanes(flat(of), by); }

void do_nothing(void*) {}

// Each node once, and behind those that it depends on.
bool is_order(const model::flat_graph& of, const std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> place(of.outside(), of.outside());
  for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  for (std::uint32_t node = 0; node < of.outside(); ++node) {
    if (place[node] == of.outside()) return false;
    for (const std::uint32_t before : of.dependencies_of(node)) {
      if (place[before] > place[node]) return false;
    }
  }
  return order.size() == of.outside();
}

TEST_F(LaneChoice, ALineHasOneLaneHoweverLongItIs) {
  const pinned_block block{long_bytes};
  test_graph g;
  test_graph::nodes last;
  for (int i = 0; i < 64; ++i)
    last = {i % 2 == 0 ? g.add_copy(block.address(), block.address() + long_bytes / 2, long_bytes / 2, last)
                       : g.add_host(do_nothing, nullptr, last)};
  EXPECT_EQ(choose(g).lanes, 1u);
}

TEST_F(LaneChoice, LittleWorkIsNotSpread) {
  test_words words{1000};
  test_graph g;
  for (std::size_t i = 0; i < 1000; ++i) g.add_set(words.at(i), 1);
  EXPECT_EQ(choose(g).lanes, 1u);
}

// Copies of the same length: each worker has as many, but for what it takes to tell it.
TEST_F(LaneChoice, MuchWorkIsSpreadOverAllWorkers) {
  const pinned_block block{2 * long_bytes};
  test_graph g;
  for (int i = 0; i < 64; ++i) g.add_copy(block.address(), block.address() + long_bytes, long_bytes);
  const lane_choice chosen = choose(g);
  ASSERT_EQ(chosen.lanes, 4u);
  for (std::uint32_t lane = 0; lane < 4; ++lane) {
    const auto nodes = std::ranges::count(chosen.lane_of, lane);
    EXPECT_TRUE(nodes >= 15 && nodes <= 17) << nodes << " in lane " << lane;
  }
}

// Chains stay in their lanes: to cross from one to another costs time.
TEST_F(LaneChoice, ChainsAreSpreadWhole) {
  const pinned_block block{2 * long_bytes};
  test_graph g;
  std::vector<test_graph::nodes> chains(4);
  for (int i = 0; i < 8; ++i) {
    for (test_graph::nodes& last : chains)
      last = {g.add_copy(block.address(), block.address() + long_bytes, long_bytes, last)};
  }
  const model::flat_graph nodes = flat(g);
  const lane_choice chosen = choose_lanes(nodes, four_workers);
  EXPECT_EQ(chosen.lanes, 4u);
  for (std::uint32_t node = 0; node < nodes.outside(); ++node) {
    for (const std::uint32_t before : nodes.dependencies_of(node))
      EXPECT_EQ(chosen.lane_of[before], chosen.lane_of[node]);
  }
}

TEST_F(LaneChoice, IndependentHostFunctionsShareALane) {
  test_words words{1};
  test_graph g;
  g.add_set(words.at(0), 1);
  for (int i = 0; i < 100; ++i) g.add_host(do_nothing, nullptr);
  EXPECT_EQ(choose(g).lanes, 2u);
}

// Where the engine chooses, it may run any of them first.
TEST_F(LaneChoice, NodeByNodeIndependentNodesHaveLanes) {
  test_words words{8};
  test_graph g;
  for (std::size_t i = 0; i < 8; ++i) g.add_set(words.at(i), 1);
  EXPECT_EQ(choose(g, {.workers = 1, .node_by_node = true, .seed = {}}).lanes, 8u);
}

// A host function behind a wait may be held up; one that is behind nothing is not put behind it.
TEST_F(LaneChoice, NoHostFunctionIsHeldUpByAnotherThatWaits) {
  test_words words{1};
  test_graph g;
  const CUgraphNode first = g.add_host(do_nothing, nullptr, {});
  const CUgraphNode wait = g.add_wait(words.at(0), {});
  g.add_host(do_nothing, nullptr, {first, wait});
  g.add_host(do_nothing, nullptr, {});
  const lane_choice chosen = choose(g, {.workers = 2, .node_by_node = false, .seed = {}});
  const auto place = [&](std::uint32_t node) { return std::ranges::find(chosen.sequence, node); };
  EXPECT_TRUE(chosen.lane_of[3] != chosen.lane_of[2] || place(3) < place(2));
}

TEST_F(LaneChoice, OneSeedIsOneOrder) {
  test_graph g;
  for (int i = 0; i < 100; ++i) g.add_empty();
  const model::flat_graph nodes = flat(g);
  EXPECT_EQ(drawn_order(nodes, 1), drawn_order(nodes, 1));
  EXPECT_NE(drawn_order(nodes, 1), drawn_order(nodes, 2));
}

// Three nodes, of which one is behind another: all orders that this allows.
TEST_F(LaneChoice, SeedsDrawAllOrders) {
  test_graph g;
  g.add_empty({g.add_empty()});
  g.add_empty();
  const model::flat_graph nodes = flat(g);
  std::set<std::vector<std::uint32_t>> seen;
  for (std::uint64_t seed = 0; seed < 64; ++seed) seen.insert(drawn_order(nodes, seed));
  EXPECT_EQ(seen.size(), 3u);
  for (const auto& order : seen) EXPECT_TRUE(is_order(nodes, order));
}

RC_GTEST_FIXTURE_PROP(LaneChoice, LanesAreFilledInAnOrderOfTheGraph, ()) {
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
      default: nodes.push_back(g.add_copy(block.address(), block.address() + long_bytes, long_bytes, behind)); break;
    }
  }
  const model::flat_graph all = flat(g);
  lane_rules rules;
  rules.workers = *rc::gen::inRange(1u, 5u);
  rules.node_by_node = *rc::gen::arbitrary<bool>();
  if (rules.node_by_node && *rc::gen::arbitrary<bool>()) rules.seed = *rc::gen::arbitrary<std::uint64_t>();
  const lane_choice chosen = choose_lanes(all, rules);
  RC_ASSERT(is_order(all, chosen.sequence));
  RC_ASSERT(std::ranges::all_of(chosen.lane_of, [&](std::uint32_t lane) { return lane < chosen.lanes; }));
  for (std::uint32_t lane = 0; lane < chosen.lanes; ++lane) RC_ASSERT(std::ranges::count(chosen.lane_of, lane) > 0);
}

}  // namespace
}  // namespace weir::embedded
