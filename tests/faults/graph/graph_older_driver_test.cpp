// SPDX-License-Identifier: Apache-2.0
// graph_older_driver_test.cpp - graphs with the drivers of CUDA 12.0 to 12.2: what works with older
// functions, and errors that name the required driver.
#include <weir/capture/capture.hpp>
#include <weir/capture/capture_to.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/graph_nodes.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "faults/older_driver.hpp"
#include "support/errors.hpp"

namespace weir {
namespace {

using test::failure_of;

class GraphWithOlderDrivers : public ::testing::TestWithParam<int> {
 protected:
  // Returns the hint of the error if the error says that the driver lacks a feature.
  template <class Call>
  [[nodiscard]] static std::string missing_feature_hint(const Call& call) {
    const auto failure = failure_of(call);
    if (!failure || failure->result() != errc::call_requires_newer_driver) return "another answer";
    return failure->hint();
  }
  static void expect_required_version(const std::string& hint, const std::string& version) {
    EXPECT_NE(hint.find("CUDA " + version), std::string::npos) << hint;
  }

  device gpu;
  stream s{gpu};
  buffer<int> x{s, 100};
  pinned_buffer<int> host{100};
  const test::older_driver older{GetParam()};
};

TEST_P(GraphWithOlderDrivers, OlderDriversSupportGraphQueriesAndDependencies) {
  graph g = capture(s, [&] {
    fill(s, x, 1);
    copy(s, x, host);
    launch_host(s, [] {});
  });
  const std::vector<graph_node> nodes = g.nodes();
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes[0].kind(), node_kind::fill);
  EXPECT_EQ(nodes[2].kind(), node_kind::host_function);
  const std::vector<graph_edge> edges = g.edges();
  ASSERT_EQ(edges.size(), 2u);
  for (const graph_edge& edge : edges) EXPECT_EQ(edge.data, edge_data{});
  ASSERT_EQ(nodes[1].dependencies().size(), 1u);
  EXPECT_EQ(nodes[1].dependencies()[0], (graph_edge{nodes[0], nodes[1], {}}));
  ASSERT_EQ(nodes[1].dependents().size(), 1u);
  EXPECT_EQ(nodes[1].dependents()[0], (graph_edge{nodes[1], nodes[2], {}}));
  g.add_dependency(nodes[0], nodes[2]);
  EXPECT_EQ(g.edges().size(), 3u);
  g.remove_dependency(nodes[0], nodes[2]);
  EXPECT_EQ(g.edges().size(), 2u);
  expect_required_version(missing_feature_hint([&] {
                            const graph_edge with_data[] = {{nodes[0], nodes[2], {.type = 1}}};
                            g.add_dependencies(with_data);
                          }),
                          "12.3");
  g.instantiate().launch(s);
  s.sync();
  EXPECT_EQ(host[0], 1);
}

TEST_P(GraphWithOlderDrivers, AddingGraphNodesRequiresCuda12Point2) {
  graph g;
  const auto build = [&] {
    const auto a = g.add(fill_parameters{x, 2});
    g.add(copy_parameters{x, host}, {a});
  };
  if (GetParam() < 12020) {
    // The embedded driver under the fault table is newer, so the hint names the latest version of
    // the function.
    expect_required_version(missing_feature_hint(build), "12.");
    EXPECT_EQ(g.node_count(), 0u);
    return;
  }
  build();
  g.instantiate().launch(s);
  s.sync();
  EXPECT_EQ(host[0], 2);
}

TEST_P(GraphWithOlderDrivers, OlderDriversSupportChangingNodes) {
  const graph g = capture(s, [&] { fill(s, host, 3); });
  const auto node = g.nodes().front().as<fill_node>();
  node.set(fill_parameters{host, 4});
  graph_exec run = g.instantiate();
  run.launch(s);
  s.sync();
  EXPECT_EQ(host[0], 4);
  run.set(node, fill_parameters{host, 5});
  run.launch(s);
  s.sync();
  EXPECT_EQ(host[0], 5);
}

TEST_P(GraphWithOlderDrivers, ConditionsAreRefusedByOlderDrivers) {
  graph g;
  expect_required_version(missing_feature_hint([&] {
                            static_cast<void>(condition{g, 1});
                          }),
                          "12.3");
}

TEST_P(GraphWithOlderDrivers, CaptureToIsRefusedByOlderDrivers) {
  graph g;
  expect_required_version(missing_feature_hint([&] { capture_to(s, g, [] {}); }), "12.3");
}

INSTANTIATE_TEST_SUITE_P(Of, GraphWithOlderDrivers, ::testing::Values(12000, 12010, 12020));

}  // namespace
}  // namespace weir
