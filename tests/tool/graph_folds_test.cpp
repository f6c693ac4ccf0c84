// SPDX-License-Identifier: Apache-2.0
// graph_folds_test.cpp - repeated nodes in the drawings of `weir graph`.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "graph_drawing_fixture.hpp"

namespace weir::tool {
namespace {

class GraphFolds : public graph_drawing_fixture {};

TEST_F(GraphFolds, RepeatedNodesOfLongGraphsAreFolded) {
  add_fills(g, 40);
  EXPECT_EQ(count_of(drawing_of(g), "fill 400 bytes"), 40u) << "40 is not above the limit";
  EXPECT_EQ(count_of(drawing_of(g, {.fold_above = 39}), "fill 400 bytes"), 1u);
  add_fills(g, 3);  // a separate chain, too short to fold
  const std::string text = drawing_of(g);
  expect_in(text, "<B>40 times</B><BR/>fill 400 bytes<");
  EXPECT_EQ(count_of(text, "fill 400 bytes"), 4u) << text;
  EXPECT_EQ(count_of(text, "->"), 2u) << text;
  EXPECT_EQ(count_of(drawing_of(g, {.fold_above = never}), "->"), 41u);
}

TEST_F(GraphFolds, NodesWithTagsOrBranchesAreNotFolded) {
  add_fills(g, 21);
  const graph_node middle = g.nodes()[10];
  g.tag(middle, "middle");
  g.add(empty_parameters{}, {g.nodes()[15]});
  const std::string text = drawing_of(g, {.fold_above = 0});
  expect_in(text, "<B>10 times</B>");  // 0 to 9
  expect_in(text, "<B>middle</B>");    // 10
  expect_in(text, "<B>5 times</B>");   // 11 to 15, and 16 to 20
  EXPECT_EQ(count_of(text, "5 times"), 2u) << text;
}

TEST_F(GraphFolds, ARepeatedSequenceIsFoldedIntoOneBox) {
  graph_node last = g.add(empty_parameters{});
  for (int i = 0; i < 5; ++i) {
    last = g.add(fill_parameters{std::span{x.data(), static_cast<std::size_t>(i + 1)}, 1}, last);
    last = g.add(copy_parameters{x, host}, last);
    last = g.add(host_function_parameters{[] {}}, last);
  }
  const std::string text = drawing_of(g, {.fold_above = 0});
  expect_in(text, "<B>5 times</B>");
  expect_in(text, ">fill<");  // for different sizes
  EXPECT_EQ(count_of(text, "copy 400 bytes, device to host"), 1u) << text;
  expect_in(text, " ... graph_folds_test.cpp:");  // of three lines, the first and the last
  EXPECT_EQ(count_of(text, "->"), 1u) << text;
}

TEST_F(GraphFolds, ACycleIsDrawn) {
  add_fills(g, 6);
  const std::vector<graph_node> nodes = g.nodes();
  g.add_dependency(nodes[5], nodes[0]);
  EXPECT_EQ(count_of(drawing_of(g), "->"), 6u);
  EXPECT_FALSE(drawing_of(g, {.fold_above = 0}).empty());
}

}  // namespace
}  // namespace weir::tool
