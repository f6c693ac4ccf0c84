// SPDX-License-Identifier: Apache-2.0
// graph_drawing_test.cpp - the options and texts of the drawings of `weir graph`, and the whole way
// from a graph to its picture.
#include "graph/drawing.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "graph_drawing_fixture.hpp"
#include "support/temporary_folder.hpp"

namespace weir::tool {
namespace {

class GraphDrawing : public graph_drawing_fixture {};

TEST_F(GraphDrawing, OptionsSetTheDirectionAndTheLegend) {
  g.add(fill_parameters{x, 1});
  g.add(copy_parameters{x, host});
  const std::string text = drawing_of(g);
  expect_in(text, "rankdir=TB;");
  expect_in(text, ">fill</TD>");
  expect_in(text, ">copy</TD>");
  EXPECT_EQ(count_of(text, "</TD>"), 2u) << text;
  expect_in(drawing_of(g, {.direction = drawing_direction::right}), "rankdir=LR;");
  expect_not_in(drawing_of(g, {.legend = false}), "TABLE");
  expect_not_in(drawing_of(graph{}), "TABLE");
}

TEST_F(GraphDrawing, TextsOfTheProgramAreEscaped) {
  const fill_node node = g.add(fill_parameters{x, 1});
  const auto drawn_tag = [&](std::string_view tag) {
    g.tag(node, tag);
    const std::string text = drawing_of(g, {.call_sites = false, .legend = false});
    const std::size_t begin = text.find("<B>") + 3;
    return text.substr(begin, text.find("</B>") - begin);
  };
  EXPECT_EQ(drawn_tag("a<b> & \"c\""), "a&lt;b&gt; &amp; &quot;c&quot;");
  EXPECT_EQ(drawn_tag("\\n{x|y}\\"), "&#92;n{x|y}&#92;");
  EXPECT_EQ(drawn_tag("gr\xC3\xBC\xC3\x9F"), "gr\xC3\xBC\xC3\x9F");
  EXPECT_EQ(drawn_tag("a\nb\x01"),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
  EXPECT_EQ(drawn_tag("\xC3"), "\xEF\xBF\xBD");
  EXPECT_EQ(drawn_tag("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");                  // overlong
  EXPECT_EQ(drawn_tag("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // half of a pair
  EXPECT_EQ(drawn_tag("  "), "&#160;&#160;");
  const std::string longest(64, 'l');
  EXPECT_EQ(drawn_tag(longest), longest);
  EXPECT_EQ(drawn_tag(longest + "m"), std::string(40, 'l') + "..." + std::string(23, 'l') + "m");
}

TEST_F(GraphDrawing, EdgesShowTheirLabels) {
  const std::string text =
      drawing_of(read_drawn_graph(parse_dot(
                     "digraph { a -> b [headlabel=1 label=then style=\"dashed\"] }", "graph.dot")),
                 {});
  expect_in(text, "n0 -> n1 [label=<then>, style=dashed];");
}

// If Graphviz is installed, it accepts every drawing and every description without a warning.
TEST_F(GraphDrawing, GraphvizAcceptsTheDrawing) {
  if (std::system("command -v dot >/dev/null 2>&1") != 0) GTEST_SKIP() << "needs Graphviz";
  add_fills(g, 10);
  const condition c{g, 1};
  g.add(if_else_parameters{c}).body().add(child_graph_parameters{fill_chain_graph(1, 2)});
  const std::array tags{"a<b>&\"", "\\", "  ", "\xFF\x01\n", "-->", "]]>", "%n", "&amp;"};
  for (const char* tag : tags) g.tag(g.add(fill_parameters{x, 1}), tag);
  for (const std::string& text :
       {drawing_of(g, {.fold_above = 5}),
        drawing_of(g, {.direction = drawing_direction::right, .fold_above = 5}), g.dot(),
        g.dot(dot_detail::verbose)}) {
    FILE* const dot = ::popen("dot -Tsvg -o /dev/null 2>&1 | (! grep .)", "w");
    ASSERT_NE(dot, nullptr);
    std::fputs(text.c_str(), dot);
    EXPECT_EQ(::pclose(dot), 0) << "dot has printed a warning for\n" << text;
  }
}

// A program that copies its input stands in for Graphviz.
TEST_F(GraphDrawing, TheToolDrawsTheDescriptionOfAGraph) {
  const test::temporary_folder own;
  const std::filesystem::path stand_in = own.path() / "dot";
  std::ofstream{stand_in} << "#!/bin/sh\nexec cat\n";
  std::filesystem::permissions(stand_in, std::filesystem::perms{0700});
  graph child;
  add_fills(child, 50);
  const fill_node first = g.add(fill_parameters{x, 1});
  g.tag(first, "first \"fill\"");
  g.add(child_graph_parameters{child}, {first});
  g.write_dot(own.path() / "graph.dot", dot_detail::verbose);
  const std::filesystem::path picture = own.path() / "graph.svg";
  const auto draw = [&](const std::string& options) {
    const std::string command = "PATH=" + own.path().string() + ":$PATH " WEIR_TOOL " graph " +
                                (own.path() / "graph.dot").string() + " -o " + picture.string() +
                                options;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    std::ifstream file{picture};
    return std::string{std::istreambuf_iterator<char>{file}, {}};
  };
  EXPECT_EQ(draw(""), drawing_of(g));
  EXPECT_EQ(draw(" --direction right --no-fold --no-call-sites --no-legend"),
            drawing_of(g, {.direction = drawing_direction::right,
                           .fold_above = never,
                           .call_sites = false,
                           .legend = false}));
  EXPECT_EQ(draw(" --fold-above 60"), drawing_of(g, {.fold_above = 60}));
}

}  // namespace
}  // namespace weir::tool
