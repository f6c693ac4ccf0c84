// SPDX-License-Identifier: Apache-2.0
// graphs_test.cpp - the code that docs/guide/graphs.md shows.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <weir/weir.hpp>

#include "support/temporary_folder.hpp"

namespace {

class GraphsPage : public ::testing::Test {
 protected:
  [[nodiscard]] weir::graph record(float value) {
    return weir::capture(s, [&] { weir::fill(s, x, value); });
  }

  weir::device gpu;
  weir::stream s{gpu};
  weir::buffer<float> x{s, 100};
  weir::pinned_buffer<float> home{100};
};

TEST_F(GraphsPage, AnExecutableIsLaunchedRepeatedly) {
  weir::graph g = record(1.0f);
  // [graphs-launch]
  weir::graph_exec run = g.instantiate();  // once
  for (int i = 0; i < 3; ++i) run.launch(s);
  // [/graphs-launch]
  weir::copy(s, x, home);
  s.sync();
  EXPECT_EQ(home[0], 1.0f);
}

TEST_F(GraphsPage, AnExecutableIsUpdated) {
  weir::graph_exec run = record(1.0f).instantiate();
  const weir::graph changed = record(2.0f);
  // [graphs-update]
  if (const weir::graph_update answer = run.update(changed); !answer) {
    std::printf("reason %u, at a node of kind %u\n", static_cast<unsigned>(answer.reason),
                answer.node ? static_cast<unsigned>(answer.node.kind()) : 0u);
  }
  run.update_or_reinstantiate(changed);  // or this, which never refuses
  // [/graphs-update]
  run.launch(s);
  weir::copy(s, x, home);
  s.sync();
  EXPECT_EQ(home[0], 2.0f);
}

TEST_F(GraphsPage, AGraphListsItsNodes) {
  const weir::graph g = record(1.0f);
  std::size_t fills = 0;
  // [graphs-questions]
  for (const weir::graph_node node : g.nodes()) {  // in topological order
    if (node.kind() == weir::node_kind::fill) ++fills;
  }
  // [/graphs-questions]
  EXPECT_EQ(fills, 1u);
}

TEST_F(GraphsPage, AGraphIsDrawn) {
  weir::graph g = record(1.0f);
  const weir::graph_node clear = g.nodes().front();
  const weir::test::temporary_folder own;
  const std::string path = own.path() / "graph.dot";
  // [graphs-pictures]
  g.tag(clear, "clear x");
  g.write_dot(path, weir::dot_detail::verbose);  // then: weir graph FILE.dot -o FILE.svg
  const std::string text = g.dot();              // only the nodes and their order
  // [/graphs-pictures]
  EXPECT_NE(text.find("clear x"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_regular_file(path));
}

}  // namespace
