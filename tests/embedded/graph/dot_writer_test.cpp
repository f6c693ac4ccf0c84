// SPDX-License-Identifier: Apache-2.0
// dot_writer_test.cpp - the description of a graph in the DOT language, in the form of a GPU's
// driver.
#include <fstream>
#include <optional>
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

class DotWriter : public memory_test {
 protected:
  [[nodiscard]] static std::string describe(CUgraph graph, unsigned flags = 0) {
    const weir::test::temporary_folder own;
    const std::string file = own.path() / "graph.dot";
    EXPECT_EQ(driver.cuGraphDebugDotPrint(graph, file.c_str(), flags), CUDA_SUCCESS);
    std::ostringstream text;
    text << std::ifstream{file}.rdbuf();
    return text.str();
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
      "\"graph_1_node_0\"[style=\"solid\" shape=\"invtrapezium\" label=\"0\nMEMSET\n(7,4)\n\"];\n"
      "\"graph_1_node_1\"[style=\"solid\" shape=\"trapezium\" label=\"1\nMEMCPY\n(HtoH,4)\n\"];\n"
      "\"graph_1_node_2\"[style=\"solid\" shape=\"rectangle\" label=\"2\ngraph_2\n\"];\n"
      "\"graph_1_node_0\" -> \"graph_1_node_1\" [headlabel=0];\n"
      "\"graph_1_node_1\" -> \"graph_1_node_2\" [headlabel=0];\n"
      "}\n"
      "subgraph cluster_2 {\n"
      "label=\"graph_2\" graph[style=\"dashed\"];\n"
      "\"graph_2_node_0\"[style=\"solid\" shape=\"rectangle\" label=\"0\nEMPTY\n\"];\n"
      "}\n"
      "}\n");
}

TEST_F(DotWriter, FlagsAddParametersAndHandles) {
  test_words words{1};
  test_graph g;
  g.add_set(words.at(0), 7);
  g.add_wait(words.at(0));
  const std::string parameters = describe(g, CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS);
  EXPECT_THAT(parameters, HasSubstr("MEMSET\n| {ID | 0 | (7,4)}\n| {{dptr | pitch | value | "
                                    "elementSize | width | height} | {0x"));
  EXPECT_THAT(parameters, HasSubstr(" | 0 | 7 | 4 | 1 | 1}}\n}\"];"));
  EXPECT_THAT(parameters, Not(HasSubstr("node handle")));
  const std::string all = describe(g, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE);
  EXPECT_THAT(all, HasSubstr("{{node handle | dptr | pitch"));
  EXPECT_THAT(all, HasSubstr("{{node handle | WAIT_VALUE_32} | {0x"));
  EXPECT_THAT(all, HasSubstr(" | EQ 1}}"));
  EXPECT_THAT(describe(g, CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES), HasSubstr("{{node handle} | {0x"));
}

TEST_F(DotWriter, KernelsHaveNamesAndTheirEdgesPorts) {
  std::optional<test_module> module{std::in_place};
  {
    test_graph g;
    const CUDA_KERNEL_NODE_PARAMS params{
        module->function("count"), 2, 3, 1, 4, 1, 1, 0, nullptr, nullptr, {}, {}};
    CUgraphNode nodes[2] = {};
    for (CUgraphNode& node : nodes)
      ASSERT_EQ(driver.cuGraphAddKernelNode_v2(&node, g, nullptr, 0, &params), CUDA_SUCCESS);
    const CUgraphEdgeData early{
        CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, 0, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, {}};
    ASSERT_EQ(driver.cuGraphAddDependencies_v2(g, &nodes[0], &nodes[1], &early, 1), CUDA_SUCCESS);
    EXPECT_THAT(describe(g), HasSubstr("[style=\"bold\" shape=\"octagon\" label=\"0\ncount"
                                       "\\<\\<\\<\\{2,3,1\\},4,0\\>\\>\\>\n\"];"));
    EXPECT_THAT(describe(g), HasSubstr("[headlabel=0 taillabel=1 style=\"dashed\"];"));
    EXPECT_THAT(describe(g, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE),
                HasSubstr("{node handle | func handle | cooperative | priority} | {0x"));
  }
  module.reset();
}

}  // namespace
}  // namespace weir::embedded
