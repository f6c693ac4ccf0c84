// SPDX-License-Identifier: Apache-2.0
// dot_writer_test.cpp - the description of a graph in the DOT language, in the form of a GPU's
// driver.
#include <fstream>
#include <optional>
#include <regex>
#include <sstream>
#include <string>

#include <gmock/gmock.h>

#include "embedded/kernel/image_fixture.hpp"
#include "graph_fixture.hpp"
#include "support/temporary_folder.hpp"

namespace weir::embedded {
namespace {

using testing::HasSubstr;
using testing::Not;

// Renumbers graphs so that the first one has the number 1. Their numbers count all graphs of the
// process.
std::string renumbered(const std::string& text) {
  static const std::regex number{"(cluster|graph)_([0-9]+)"};
  std::smatch found;
  std::string result;
  int before = -1;
  auto begin = text.begin();
  for (; std::regex_search(begin, text.end(), found, number); begin = found.suffix().first) {
    if (before < 0) before = std::stoi(found[2]) - 1;
    result +=
        found.prefix().str() + found[1].str() + "_" + std::to_string(std::stoi(found[2]) - before);
  }
  return result.append(begin, text.end());
}

class DotWriter : public memory_test {
 protected:
  [[nodiscard]] static std::string describe(CUgraph graph, unsigned flags = 0) {
    const weir::test::temporary_folder own;
    const std::string file = own.path() / "graph.dot";
    EXPECT_EQ(driver.cuGraphDebugDotPrint(graph, file.c_str(), flags), CUDA_SUCCESS);
    std::ostringstream text;
    text << std::ifstream{file}.rdbuf();
    return renumbered(text.str());
  }
};

TEST_F(DotWriter, EachGraphIsAClusterOfItsNodesAndEdges) {
  test_words words{2};
  test_graph child;
  child.add_empty();
  test_graph g;
  const CUgraphNode a = g.add_set(words.at(0), 7);
  const CUgraphNode b = g.add_copy(words.at(1), words.at(0), 4, {a});
  CUgraphNode c = nullptr;
  ASSERT_EQ(driver.cuGraphAddChildGraphNode(&c, g, &b, 1, child), CUDA_SUCCESS);
  EXPECT_EQ(
      describe(g),
      "digraph dot {\n"
      "subgraph cluster_1 {\n"
      "label=\"graph_1\" graph[style=\"dashed\"];\n"
      "\"graph_1_node_0\"[style=\"solid\" shape=\"invtrapezium\"label=\"0\nMEMSET\n(7,4)\n\"];\n\n"
      "\"graph_1_node_1\"[style=\"solid\" shape=\"trapezium\"label=\"1\nMEMCPY\n(UtoU,4)\n\"];\n\n"
      "\"graph_1_node_2\"[style=\"solid\" shape=\"rectangle\" label=\"2\ngraph_2\n\"];\n\n"
      "\"graph_1_node_0\" -> \"graph_1_node_1\";\n"
      "\"graph_1_node_1\" -> \"graph_1_node_2\";\n"
      "}\n"
      "subgraph cluster_2 {\n"
      "label=\"graph_2\" graph[style=\"dashed\"];\n"
      "\"graph_2_node_0\"[style=\"solid\" shape=\"rectangle\" label=\"0\nEMPTY\n\"];\n\n"
      "}\n"
      "}\n");
}

TEST_F(DotWriter, FlagsAddParametersAndHandles) {
  test_words words{1};
  test_graph g;
  g.add_set(words.at(0), 7);
  g.add_wait(words.at(0));
  const std::string parameters = describe(g, CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS);
  EXPECT_THAT(parameters, HasSubstr("[style=\"solid\" style=\"solid\" shape=\"record\" "
                                    "label=\"{MEMSET\n| {{ID | dptr | pitch | value | "
                                    "elementSize | width | height} | {0 | 0x"));
  EXPECT_THAT(parameters, HasSubstr(" | 0 | 7 | 4 | 1 | 1}}}\"];\n\n"));
  const std::string all = describe(g, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE);
  EXPECT_THAT(all, HasSubstr("{{ID | node handle | dptr | pitch"));
  EXPECT_THAT(all, HasSubstr("\"{\nBATCH_MEM_OP\n"
                             "| {{ID | node handle | count | flags } | {1 (topoId: 0) | 0x"));
  EXPECT_THAT(all, HasSubstr(" | 1 | 0x00000000 }}\n"
                             "| {{{paramArray[0] | {op | addr | val | flags }}}\n"
                             "| {WAIT_VALUE_32 | 0x"));
  EXPECT_THAT(all, HasSubstr(" | 0x00000001 | EQ}}\n}\"];\n\n"));
  EXPECT_THAT(describe(g, CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES), HasSubstr("MEMSET\nnode handle: 0x"));
}

TEST_F(DotWriter, ACopyShowsTheDeclaredAndTheActualMemory) {
  test_words words{2};
  test_graph g;
  g.add_copy(words.at(1), words.at(0), 4);
  const std::string text = describe(g, CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS);
  EXPECT_THAT(text, HasSubstr("label=\"{\nMEMCPY\n| {{ID} | {0}}\n| {{src | dst} | { MemoryType | "
                              "Array | Host | Device | XInBytes | Y | Z | Pitch | Height | LOD | "
                              "MemoryType | "));
  EXPECT_THAT(text, HasSubstr("| {UNIFIED (HOST PINNED) | 0x0000000000000000 | "
                              "0x0000000000000000 | 0x"));
  EXPECT_THAT(text, HasSubstr(" | 0 | 0 | 0 | 0 | 0 | 0 | UNIFIED (HOST PINNED) | "));
  EXPECT_THAT(text,
              HasSubstr("\n| {Extent | {WidthInBytes | Height | Depth} | {4 | 1 | 1}}\n}\"]"));
}

TEST_F(DotWriter, KernelsHaveTheirNamesAndShapes) {
  std::optional<test_module> module{std::in_place};
  {
    test_graph g;
    const CUDA_KERNEL_NODE_PARAMS params{
        module->function("count"), 2, 3, 1, 4, 1, 2, 0, nullptr, nullptr, {}, {}};
    CUgraphNode nodes[2] = {};
    for (CUgraphNode& node : nodes)
      ASSERT_EQ(driver.cuGraphAddKernelNode_v2(&node, g, nullptr, 0, &params), CUDA_SUCCESS);
    const CUgraphEdgeData early{
        CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, 0, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, {}};
    ASSERT_EQ(driver.cuGraphAddDependencies_v2(g, &nodes[0], &nodes[1], &early, 1), CUDA_SUCCESS);
    EXPECT_THAT(describe(g), HasSubstr("[style=\"bold\" shape=\"octagon\" label=\"0\ncount\n\"]"));
    EXPECT_THAT(describe(g), HasSubstr("\"graph_1_node_0\" -> \"graph_1_node_1\";\n"))
        << "the driver shows no ports";
    EXPECT_THAT(describe(g, CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS),
                HasSubstr("0\ncount\n\\<\\<\\<\\{2,3\\},\\{4,1,2\\},0\\>\\>\\>\"];"));
    const std::string all = describe(g, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE);
    EXPECT_THAT(all, HasSubstr("label=\"{KERNEL\n| {ID | 0 (topoId: 1) | count\\<\\<\\<"));
    EXPECT_THAT(all, HasSubstr("\\>\\>\\>}\n| {{node handle | func handle} | {0x"));
    EXPECT_THAT(all, HasSubstr("}}\n| {accessPolicyWindow | {base_ptr | num_bytes | hitRatio | "
                               "hitProp | missProp} | {0x0000000000000000 | 0 | 0.000000 | N | "
                               "N}}\n| {cooperative | 0}\n| {priority | 0}\n}\"];\n\n"));
  }
  module.reset();
}

// The numbers of an H100.
TEST_F(DotWriter, TheTopologyNumbersNodesAndDependencies) {
  test_graph g;
  const CUgraphNode a = g.add_empty();
  const CUgraphNode b = g.add_empty({a});
  const CUgraphNode c = g.add_empty({b});
  g.add_empty();
  g.add_empty({c});
  g.add_empty({b, c});
  const std::string text = describe(g, CU_GRAPH_DEBUG_DOT_FLAGS_EXTRA_TOPO_INFO);
  for (const char* label : {"0 (topoId: 5)", "1 (topoId: 3)", "2 (topoId: 4)", "3 (topoId: 2)",
                            "4 (topoId: 1)", "5 (topoId: 0)"})
    EXPECT_THAT(text, HasSubstr(label));
  EXPECT_THAT(text, HasSubstr("\"graph_1_node_2\" -> \"graph_1_node_5\" [headlabel=1];"));
}

TEST_F(DotWriter, NodesKeepTheirNumbersWithoutRemovedOnes) {
  test_graph g;
  const CUgraphNode removed = g.add_empty();
  g.add_empty();
  ASSERT_EQ(driver.cuGraphDestroyNode(removed), CUDA_SUCCESS);
  CUgraph copy = nullptr;
  ASSERT_EQ(driver.cuGraphClone(&copy, g), CUDA_SUCCESS);
  const CUgraphNode* const none = nullptr;
  CUgraphNode added = nullptr;
  ASSERT_EQ(driver.cuGraphAddEmptyNode(&added, copy, none, 0), CUDA_SUCCESS);
  const std::string text = describe(copy);
  EXPECT_THAT(text, Not(HasSubstr("graph_1_node_0")));
  EXPECT_THAT(text, HasSubstr("graph_1_node_1"));
  EXPECT_THAT(text, HasSubstr("graph_1_node_2"));
  EXPECT_EQ(driver.cuGraphDestroy(copy), CUDA_SUCCESS);
}

}  // namespace
}  // namespace weir::embedded
