// SPDX-License-Identifier: Apache-2.0
// graph_description_test.cpp - kinds and descriptions that `weir graph` finds in the labels of
// drivers.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "graph/dot_text.hpp"
#include "graph/drawn_graph.hpp"
#include "graph/driver_label.hpp"
#include "graph/node_description.hpp"

namespace weir::tool {
namespace {

std::string describe(std::string_view label, std::string_view shape = "rectangle") {
  const driver_label read = shape == "record" ? read_record_label(label) : read_plain_label(label);
  return node_descriptions{}.describe(kind_of(read, shape), read, "", 0);
}

std::string describe_record(std::string_view label) { return describe(label, "record"); }

TEST(DriverLabel, APlainLabelHasALineForEachWord) {
  const driver_label label = read_plain_label("1\nMEMCPY\\n (HtoD,400) \n");
  ASSERT_EQ(label.words.size(), 3u);
  EXPECT_EQ(label.words[1], "MEMCPY");
  EXPECT_TRUE(label.contains("(HtoD,400)"));
  EXPECT_TRUE(label.values.empty());
  EXPECT_EQ(read_plain_label("0\nEVENT_WAIT\nevent: 0x10\n").value("event"), "0x10");
}

TEST(DriverLabel, ARecordHasValuesByTheNamesOfItsFields) {
  const driver_label label = read_record_label(
      "{MEMSET\n| {{ID | node handle | value} | {3 (topoId: 1) | 0x0000AB | 7}}\n| {kind | "
      "a\\|b}}");
  EXPECT_EQ(label.words.front(), "MEMSET");
  EXPECT_EQ(label.value("ID"), "3 (topoId: 1)");
  EXPECT_EQ(label.value("node handle"), "0x0000AB");
  EXPECT_EQ(label.value("value"), "7");
  EXPECT_EQ(label.value("kind"), "a|b");
  EXPECT_EQ(label.value("none"), "");
}

TEST(DriverLabel, ADamagedRecordIsRead) {
  for (const std::string_view text : {"", "{", "}", "}}}{|", "{{{a|b", "|", "\\", "a\\"})
    EXPECT_EQ(read_record_label(text).value("none"), "") << text;
  EXPECT_TRUE(read_record_label(std::string(100'000, '{')).words.empty());
}

TEST(NodeDescription, AShortLabelGivesKindAndSize) {
  EXPECT_EQ(describe("0\nMEMSET\n(7,400)\n"), "fill 400 bytes");
  EXPECT_EQ(describe("1\nMEMCPY\n(HtoD,4096)\n"), "copy 4 KiB, host to device");
  EXPECT_EQ(describe("1\nMEMCPY\n(DtoA,1)\n"), "copy 1 byte, device to array");
  EXPECT_EQ(describe("2\nHOST\n"), "host function");
  EXPECT_EQ(describe("3\nEMPTY\n"), "");
  EXPECT_EQ(describe("4\nEVENT_RECORD\n"), "record event");
  EXPECT_EQ(describe("4\nEVENT_WAIT\n"), "wait for event");
  EXPECT_EQ(describe("5\nEXT_SEMAS_SIGNAL\n"), "signal semaphores");
  EXPECT_EQ(describe("5\nEXT_SEMAS_WAIT\n"), "wait for semaphores");
  EXPECT_EQ(describe("6\nMEM_ALLOC\n"), "allocate");
  EXPECT_EQ(describe("6\nMEM_FREE\n"), "free");
  EXPECT_EQ(describe("7\nBATCH_MEM_OP\n"), "values");
}

TEST(NodeDescription, AKernelHasItsNameAndItsThreads) {
  EXPECT_EQ(describe("0\n_Z5saxpyifPfS_\n", "octagon"), "kernel saxpy(int, float, float*, float*)");
  EXPECT_EQ(describe("0\nsaxpy\n\\<\\<\\<2,128,0\\>\\>\\>\n", "octagon"),
            "kernel saxpy, 2 x 128 threads");
  EXPECT_EQ(describe("0\n\\<\\<\\<(2,3,1),(4,5,6),0\\>\\>\\>", "octagon"),
            "kernel, 6 x 120 threads");
  EXPECT_EQ(describe("0\nfirst\nnode handle: 0x01\nfunc handle: 0x02\n", "octagon"),
            "kernel first");
  EXPECT_EQ(describe("0\nfirst\n\\<\\<\\<\\{2,3\\},4,0\\>\\>\\>node handle: 0x01\n", "octagon"),
            "kernel first, 6 x 4 threads")
      << "the driver ends no line after the threads";
  EXPECT_EQ(describe("", "octagon"), "kernel");
  EXPECT_EQ(describe_record(
                "{KERNEL\n| {ID | 3 (topoId: 0) | gemm\\<\\<\\<\\{16,10,4\\},128,0\\>\\>\\>}\n"
                "| {{node handle | func handle} | {0x000055E7277A7210 | 0x000055E727587C30}}\n"
                "| {accessPolicyWindow | {base_ptr | num_bytes} | {0x0000000000000000 | 0}}\n"
                "| {cooperative | 0}\n| {priority | 0}\n}"),
            "kernel gemm, 640 x 128 threads");
}

TEST(NodeDescription, ARecordGivesRowsAndDirections) {
  EXPECT_EQ(describe_record("{\nMEMSET\n| {{ID | node handle | dptr | pitch | value | elementSize "
                            "| width | height} | "
                            "{2 | 0x01 | 0x02 | 4096 | 0 | 4 | 256 | 64}}}"),
            "fill 64 rows of 1 KiB");
  EXPECT_EQ(
      describe_record(
          "{\nMEMCPY\n| {{ID | node handle} | {2 (topoId: 1) | 0x000055E7277A6AC0}}\n"
          "| {kind | DtoD (DEVICE to DEVICE)}\n"
          "| {{srcPtr | dstPtr} | {pitch | ptr | xsize | ysize | pitch | ptr | xsize | ysize} | "
          "{0 | 0x0000000302000000 | 0 | 0 | 0 | 0x0000000302001200 | 0 | 0}}\n"
          "| {{srcPos | {{x | 0} | {y | 0} | {z | 0}}} | {dstPos | {{x | 0} | {y | 0} | {z | 0}}} "
          "| "
          "{Extent | {{Width | 2048} | {Height | 2} | {Depth | 3}}}}\n}"),
      "copy 6 rows of 2 KiB, device to device");
}

TEST(NodeDescription, ACopyOfAllocatedMemoryIsACopyOfDeviceMemory) {
  node_descriptions descriptions;
  const driver_label allocation =
      read_record_label("{MEM_ALLOC | {{ID} | {0}} | {{bytesize | dptr} | {3145728 | 0x1000}}}");
  descriptions.add_allocation(allocation);
  EXPECT_EQ(descriptions.describe(node_kind::allocation, allocation, "", 0), "allocate 3 MiB");
  const driver_label release = read_record_label("{MEM_FREE | {{ID} | {2}} | {{dptr} | {0x1000}}}");
  EXPECT_EQ(descriptions.describe(node_kind::free, release, "", 0), "free 3 MiB");
  const auto copy = [](std::string_view source, std::string_view target) {
    return describe_record("{MEMCPY | {{src | dst} | {MemoryType | Host | MemoryType | Host} | {" +
                           std::string{source} + " | 0x1 | " + std::string{target} + " | 0x2}}}");
  };
  EXPECT_EQ(copy("HOST (HOST PINNED)", "HOST (DEVICE)"), "copy, host to device");
  EXPECT_EQ(copy("UNIFIED (MANAGED)", "UNIFIED (HOST PAGEABLE)"), "copy, device to host");
  EXPECT_EQ(copy("ARRAY (DEVICE)", "DEVICE (DEVICE)"), "copy, array to device");
}

TEST(NodeDescription, EventsAreShownByNameOrNumber) {
  node_descriptions descriptions;
  const auto text = [&](std::string_view handle, std::string_view name) {
    const driver_label label =
        read_plain_label("0\nEVENT_RECORD\nevent: " + std::string{handle} + "\n");
    return descriptions.describe(node_kind::event_record, label, name, 0);
  };
  EXPECT_EQ(text("0x10", ""), "record event 1");
  EXPECT_EQ(text("0x20", "ready"), "record event \"ready\"");
  EXPECT_EQ(text("0x30", ""), "record event 2");
  EXPECT_EQ(text("0x10", ""), "record event 1");
}

TEST(NodeDescription, ValueOperationsAreDescribedOrCounted) {
  const auto text = [](std::string_view operations) {
    return describe_record(
        "{BATCH_MEM_OP | {{ID | count} | {1 | 1}} | {{{paramArray[0] | {op | "
        "addr | val | flags}}} | {" +
        std::string{operations} + "}}}");
  };
  EXPECT_EQ(text("WRITE_VALUE_32 | 0xF0 | 0x00000010 | DEFAULT"), "write value 16");
  EXPECT_EQ(text("WAIT_VALUE_32 | 0xF0 | 0x00000007 | NOR"), "wait for value nor 7");
  EXPECT_EQ(text("WAIT_VALUE_64 | 0xF0 | 0x0000000000002737 | EQ"), "wait for value == 2737")
      << "the driver writes 64 bits in decimal digits";
  EXPECT_EQ(text("WAIT_VALUE_32 | 0xF0 | 0x7 | EQ\n| WRITE_VALUE_32 | 0xF0 | 0x8 | DEFAULT\n"
                 "| WRITE_VALUE_32 | 0xF0 | 0x9 | DEFAULT"),
            "1 value wait, 2 value writes");
  EXPECT_EQ(describe_record("{BATCH_MEM_OP | {WRITE_VALUE_32 | 0xF0}}"), "values");
}

TEST(NodeDescription, AnUnknownNodeIsDescribedByItsText) {
  EXPECT_EQ(describe("12\nNEW_KIND\n(a,b)\n"), "NEW_KIND (a,b)");
  EXPECT_EQ(describe_record("{NEW_KIND | {ID | 12}}"), "NEW_KIND ID 12");
  EXPECT_EQ(describe(""), "");
  EXPECT_EQ(describe("{MEMSET | {{ID | width | height | elementSize} | {0 | 99999999999999999999 | "
                     "18446744073709551615 | 4}}}",
                     "record"),
            "fill");
}

TEST(DrawnGraph, PartsAreTheSubgraphsThatALabelNames) {
  const drawn_graph graph = read_drawn_graph(parse_dot(R"(digraph dot {
subgraph cluster_1 {
label="graph_1" graph[style="dashed"];
"graph_1_node_0"[shape="rectangle" label="0
graph_2
"];
"graph_1_node_1"[style="bold" shape="record" label="{
CONDITIONAL
| {ID | 1}
| {Conditional Type| IF}
| {True | graph_3}
| {False| graph_4}
}
"];

"graph_1_node_0" -> "graph_1_node_1" [headlabel=0];
"graph_1_node_0" -> "graph_2_node_0";
}
subgraph cluster_2 {
label="graph_2" graph[style="dashed"];
"graph_2_node_0"[shape="rectangle" label="0
graph_1
"];
}
subgraph cluster_3 {
label="graph_3";
}
subgraph cluster_4 {
label="graph_4";
"graph_4_node_0"[label="0
EMPTY"];
}
"graph_1_node_1" [weir_tag="a \\ \"b\"" weir_call_site="main.cpp:3"];
})",
                                                       "graph.dot"));
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.edges.size(), 1u);
  EXPECT_EQ(graph.count(), 4u);
  EXPECT_EQ(graph.nodes[0].kind, node_kind::child_graph);
  ASSERT_EQ(graph.nodes[0].parts.size(), 1u);
  EXPECT_TRUE(graph.nodes[0].parts[0].nodes[0].parts.empty()) << "a graph does not contain itself";
  ASSERT_EQ(graph.nodes[1].parts.size(), 2u);
  EXPECT_EQ(graph.nodes[1].description, "if, else");
  EXPECT_EQ(graph.nodes[1].parts[1].title, "else");
  EXPECT_EQ(graph.nodes[1].tag, "a \\ \"b\"");
  EXPECT_EQ(graph.nodes[1].site, "main.cpp:3");
}

TEST(DrawnGraph, GraphsThatNestTooDeeplyAreRefused) {
  std::string text = "digraph {";
  for (int i = 1000; i > 0; --i) {
    text += "subgraph c" + std::to_string(i) + " { label=g" + std::to_string(i) + "; n" +
            std::to_string(i) + " [label=g" + std::to_string(i + 1) + "] }";
  }
  EXPECT_THROW(static_cast<void>(read_drawn_graph(parse_dot(text + "}", "graph.dot"))),
               std::exception);
}

TEST(DrawnGraph, AnyGraphIsDrawnByItsTexts) {
  const drawn_graph graph = read_drawn_graph(parse_dot(
      "digraph { subgraph s { a -> b [label=then] } b -> c [style=dashed] }", "graph.dot"));
  ASSERT_EQ(graph.nodes.size(), 3u);
  EXPECT_EQ(graph.nodes[0].description, "a");
  EXPECT_FALSE(graph.nodes[0].kind);
  ASSERT_EQ(graph.edges.size(), 2u);
  EXPECT_EQ(graph.edges[0].label, "then");
  EXPECT_TRUE(graph.edges[1].dashed);
}

}  // namespace
}  // namespace weir::tool
