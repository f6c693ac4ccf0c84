// SPDX-License-Identifier: Apache-2.0
// graph_dot_text_test.cpp - the parser of the DOT language of `weir graph`.
#include "graph/dot_text.hpp"

#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "failure.hpp"

namespace weir::tool {
namespace {

dot_graph parse(std::string_view text) { return parse_dot(text, "graph.dot"); }

std::string error_of(std::string_view text) {
  try {
    static_cast<void>(parse(text));
  } catch (const failure& error) {
    return error.what();
  }
  return "none";
}

std::string_view attribute(const dot_graph& graph, std::size_t node, std::string_view name) {
  return value_of(graph.nodes.at(node).attributes, name);
}

TEST(DotText, NodesEdgesAndSubgraphsAreRead) {
  const dot_graph graph = parse(R"(digraph dot {
    subgraph cluster_1 {
      label="graph_1" graph[style="dashed"];
      "a"[shape="record" label="{KERNEL | x}"];
      b [label=two, color = red; bold];
      "a" -> "b" [headlabel=0];
    }
    c;
  })");
  ASSERT_EQ(graph.subgraphs.size(), 2u);
  EXPECT_EQ(graph.subgraphs[0].name, "dot");
  EXPECT_EQ(graph.subgraphs[1].name, "cluster_1");
  EXPECT_EQ(graph.subgraphs[1].parent, 0u);
  EXPECT_EQ(value_of(graph.subgraphs[1].attributes, "label"), "graph_1");
  EXPECT_EQ(value_of(graph.subgraphs[1].attributes, "style"), "dashed");
  ASSERT_EQ(graph.nodes.size(), 3u);
  EXPECT_EQ(graph.nodes[0].name, "a");
  EXPECT_EQ(graph.nodes[0].subgraph, 1u);
  EXPECT_EQ(attribute(graph, 0, "label"), "{KERNEL | x}");
  EXPECT_EQ(attribute(graph, 1, "label"), "two");
  EXPECT_EQ(attribute(graph, 1, "color"), "red");
  EXPECT_EQ(attribute(graph, 1, "bold"), "true");
  EXPECT_EQ(attribute(graph, 1, "none"), "");
  EXPECT_EQ(graph.nodes[2].subgraph, 0u);
  ASSERT_EQ(graph.edges.size(), 1u);
  EXPECT_EQ(graph.edges[0].source, 0u);
  EXPECT_EQ(graph.edges[0].target, 1u);
  EXPECT_EQ(value_of(graph.edges[0].attributes, "headlabel"), "0");
}

TEST(DotText, ALaterStatementAddsAttributesToANode) {
  const dot_graph graph = parse("digraph { subgraph s { a [x=1] } a [y=2] }");
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(graph.nodes[0].subgraph, 1u) << "the first statement determines the subgraph";
  EXPECT_EQ(attribute(graph, 0, "x"), "1");
  EXPECT_EQ(attribute(graph, 0, "y"), "2");
}

TEST(DotText, AChainOfEdgesSharesItsAttributes) {
  const dot_graph graph = parse("strict DiGraph { a -> b:port:n -> c [style=dashed]; d--e }");
  EXPECT_EQ(graph.nodes.size(), 5u);
  ASSERT_EQ(graph.edges.size(), 3u);
  EXPECT_EQ(value_of(graph.edges[0].attributes, "style"), "dashed");
  EXPECT_EQ(graph.edges[1].source, 1u);
  EXPECT_EQ(graph.edges[1].target, 2u);
  EXPECT_EQ(value_of(graph.edges[2].attributes, "style"), "");
}

TEST(DotText, DefaultsAndCommentsAreSkipped) {
  const dot_graph graph = parse(
      "# a line\n/* digraph { */ digraph { // }\n node [shape=box] edge [color=red]\n {} ; a }\n");
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(attribute(graph, 0, "shape"), "");
}

TEST(DotText, QuotedStringsContainAnyCharacter) {
  const dot_graph graph = parse(
      "digraph { a [l1=\"one\ntwo\\n\" l2=\"say \\\"x\\\"\" l3=\"\\\\\" "
      "l4=\"a\\\nb\" l5=\"{|}<>;\" \"gr\xC3\xBC\xC3\x9F\"=\"\xFF\"] }");
  EXPECT_EQ(attribute(graph, 0, "l1"), "one\ntwo\\n");
  EXPECT_EQ(attribute(graph, 0, "l2"), "say \"x\"");
  EXPECT_EQ(attribute(graph, 0, "l3"), "\\\\");
  EXPECT_EQ(attribute(graph, 0, "l4"), "ab");
  EXPECT_EQ(attribute(graph, 0, "l5"), "{|}<>;");
  EXPECT_EQ(attribute(graph, 0, "gr\xC3\xBC\xC3\x9F"), "\xFF");
}

TEST(DotText, AnHtmlStringEndsAtItsClosingBracket) {
  const dot_graph graph = parse("digraph { a [label=<x <B>bold</B>>, n=-1.5] }");
  EXPECT_EQ(attribute(graph, 0, "label"), "x <B>bold</B>");
  EXPECT_EQ(attribute(graph, 0, "n"), "-1.5");
}

TEST(DotText, KeywordsInQuotesAreNames) {
  const dot_graph graph = parse("digraph \"graph\" { \"node\" -> \"subgraph\" }");
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.nodes[1].name, "subgraph");
}

TEST(DotText, AnErrorNamesTheFileAndTheLine) {
  const struct {
    std::string_view text;
    std::string_view error;
  } cases[] = {
      {"", "line 1: expected 'digraph', found the end of the file"},
      {"#!/bin/sh\necho", "line 2: expected 'digraph', found 'echo'"},
      {"digraph\n[", "line 2: expected '{', found '['"},
      {"digraph {\n\na ->", "line 3: expected a name, found the end of the file"},
      {"digraph {\n\na [label=]", "line 3: expected a name, found ']'"},
      {"digraph {\na [\n\"label", "line 3: the quoted string has no end"},
      {"digraph {\n\"\\", "line 2: the quoted string has no end"},
      {"digraph { a [label=<b<>", "line 1: the HTML string has no end"},
      {"digraph { /* }", "line 1: the comment has no end"},
      {"digraph {\n}\n}", "line 3: expected the end of the file, found '}'"},
      {"digraph {\n a = }", "line 2: expected a name, found '}'"},
      {"digraph {\n \x01 }", "line 2: unexpected character"},
      {"digraph { {a} -> b }", "line 1: expected no edge from a subgraph, found '->'"},
      {"digraph { a -> {b} }", "line 1: expected a name, found '{'"},
  };
  for (const auto& c : cases) {
    EXPECT_TRUE(error_of(c.text).starts_with("cannot read 'graph.dot', " + std::string{c.error}))
        << c.text << "\n"
        << error_of(c.text);
  }
}

TEST(DotText, ADeepNestingIsRefused) {
  const std::string deep(1'000'000, '{');
  EXPECT_NE(error_of("digraph " + deep).find("fewer subgraphs"), std::string::npos);
  EXPECT_EQ(error_of("digraph a { b [c=" + std::string(1'000'000, '<')),
            "cannot read 'graph.dot', line 1: the HTML string has no end");
}

// Each beginning of a text, and each text without one of its bytes, is read or refused.
TEST(DotText, ADamagedTextIsReadOrRefused) {
  const std::string text =
      "digraph d { subgraph c { label=\"g\" \"a\"[x=\"{\\\"|}\"]; } a -> b [h=<<i>>]; /* c */ }\n";
  EXPECT_EQ(error_of(text), "none");
  for (std::size_t i = 0; i < text.size(); ++i) {
    static_cast<void>(error_of(text.substr(0, i)));
    static_cast<void>(error_of(text.substr(0, i) + text.substr(i + 1)));
    static_cast<void>(error_of(text.substr(0, i) + '\0' + text.substr(i)));
  }
}

}  // namespace
}  // namespace weir::tool
