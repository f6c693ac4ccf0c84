// SPDX-License-Identifier: Apache-2.0
// graph_real_text_test.cpp - what `weir graph` reads in descriptions that the driver of an H100 has
// written (13.0).
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "graph/dot_text.hpp"
#include "graph/drawn_graph.hpp"

namespace weir::tool {
namespace {

drawn_graph read(std::string_view text) { return read_drawn_graph(parse_dot(text, "graph.dot")); }

// Returns the descriptions of the nodes, with those of their parts in braces.
std::vector<std::string> descriptions(const drawn_graph& graph) {
  std::vector<std::string> all;
  for (const drawn_node& node : graph.nodes) {
    std::string text = node.description;
    for (const drawn_graph& part : node.parts) {
      text += " {" + part.title;
      for (const std::string& inner : descriptions(part)) text += ": " + inner;
      text += "}";
    }
    all.push_back(text);
  }
  return all;
}

using texts = std::vector<std::string>;

constexpr std::string_view operations = R"DOT(digraph dot {
subgraph cluster_1 {
label="graph_1" graph[style="dashed"];
"graph_1_node_0"[style="solid" shape="invtrapezium"label="0
MEMSET
(7,400)
"];

"graph_1_node_1"[style="solid" shape="trapezium"label="1
MEMCPY
(HtoD,400)
"];

"graph_1_node_2"[style="solid" shape="trapezium"label="2
MEMCPY
(DtoH,400)
"];

"graph_1_node_3"[style="solid" shape="invtrapezium"label="3
MEMSET
(0,65536)
"];

"graph_1_node_4"[style="solid" shape="rectangle" label="4
HOST
"];

"graph_1_node_5"[style="solid" shape="rectangle" label="5
EMPTY
"];

"graph_1_node_0" -> "graph_1_node_1";
"graph_1_node_1" -> "graph_1_node_2";
"graph_1_node_1" -> "graph_1_node_5";
"graph_1_node_2" -> "graph_1_node_4";
"graph_1_node_2" -> "graph_1_node_5";
}
"graph_1_node_0"[weir_call_site="dot_sample.cpp:56" weir_tag="a \"tag\" with \\ and |{}<>"];
}
)DOT";

TEST(GraphRealText, OperationsHaveKindsAndSizes) {
  const drawn_graph graph = read(operations);
  EXPECT_EQ(descriptions(graph),
            (texts{"fill 400 bytes", "copy 400 bytes, host to device",
                   "copy 400 bytes, device to host", "fill 64 KiB", "host function", ""}));
  EXPECT_EQ(graph.nodes[0].tag, "a \"tag\" with \\ and |{}<>");
  EXPECT_EQ(graph.nodes[0].site, "dot_sample.cpp:56");
  ASSERT_EQ(graph.edges.size(), 5u);
  EXPECT_EQ(graph.edges[4].source, 2u);
  EXPECT_EQ(graph.edges[4].target, 5u);
}

constexpr std::string_view operations_verbose = R"DOT(digraph dot {
subgraph cluster_1 {
label="graph_1" graph[style="dashed"];
"graph_1_node_0"[style="solid" style="solid" shape="record" label="{MEMSET
| {{ID | node handle | dptr | pitch | value | elementSize | width | height} | {0 (topoId: 5) | 0x000056507013ABB0 | 0x0000000302000000 | 0 | 7 | 4 | 100 | 1}}}"];

"graph_1_node_1"[style="solid" shape="record" label="{
MEMCPY
| {{ID | node handle} | {1 (topoId: 3) | 0x000056507013B318}}
| {{src | dst} | { MemoryType | Array | Host | Device | XInBytes | Y | Z | Pitch | Height | LOD | MemoryType | Array | Host | Device | XInBytes | Y | Z | Pitch | Height | LOD} | {HOST (HOST PINNED) | 0x0000000000000000 | 0x00007FC2F1E00000 | 0x0000000000000000 | 0 | 0 | 0 | 0 | 0 | 0 | DEVICE (DEVICE) | 0x0000000000000000 | 0x0000000000000000 | 0x0000000302000000 | 0 | 0 | 0 | 0 | 0 | 0}}
| {Extent | {WidthInBytes | Height | Depth} | {400 | 1 | 1}}
}"];

"graph_1_node_2"[style="solid" shape="record" label="{
MEMCPY
| {{ID | node handle} | {2 (topoId: 4) | 0x000056507013BA80}}
| {{src | dst} | { MemoryType | Array | Host | Device | XInBytes | Y | Z | Pitch | Height | LOD | MemoryType | Array | Host | Device | XInBytes | Y | Z | Pitch | Height | LOD} | {DEVICE (DEVICE) | 0x0000000000000000 | 0x0000000000000000 | 0x0000000302000000 | 0 | 0 | 0 | 0 | 0 | 0 | HOST (HOST PINNED) | 0x0000000000000000 | 0x00007FC2F1E00000 | 0x0000000000000000 | 0 | 0 | 0 | 0 | 0 | 0}}
| {Extent | {WidthInBytes | Height | Depth} | {400 | 1 | 1}}
}"];

"graph_1_node_3"[style="solid" style="solid" shape="record" label="{MEMSET
| {{ID | node handle | dptr | pitch | value | elementSize | width | height} | {3 (topoId: 2) | 0x000056507013C1E8 | 0x0000000302000200 | 4096 | 0 | 1 | 1024 | 64}}}"];

"graph_1_node_4"[style="solid" shape="rectangle" label="4 (topoId: 1)
HOST
node handle: 0x000056507013C950
fn: 0x000056506CAFCD30
userData: 0x0000565070175FC0
"];

"graph_1_node_5"[style="solid" shape="rectangle" label="5 (topoId: 0)
EMPTY
node handle: 0x000056507013D0B8
"];

"graph_1_node_0" -> "graph_1_node_1" [headlabel=0];
"graph_1_node_1" -> "graph_1_node_2" [headlabel=0];
"graph_1_node_1" -> "graph_1_node_5" [headlabel=0];
"graph_1_node_2" -> "graph_1_node_4" [headlabel=0];
"graph_1_node_2" -> "graph_1_node_5" [headlabel=1];
}
"graph_1_node_0"[weir_tag="a \"tag\" with \\ and |{}<>"];
}
)DOT";

TEST(GraphRealText, VerboseOperationsHaveRows) {
  const drawn_graph graph = read(operations_verbose);
  EXPECT_EQ(descriptions(graph), (texts{"fill 400 bytes", "copy 400 bytes, host to device",
                                        "copy 400 bytes, device to host", "fill 64 rows of 1 KiB",
                                        "host function", ""}));
  for (const drawn_edge& edge : graph.edges)
    EXPECT_TRUE(edge.is_plain()) << "the number at the head of an edge is no port";
}

constexpr std::string_view memory = R"DOT(digraph dot {
subgraph cluster_3 {
label="graph_3" graph[style="dashed"];
"graph_3_node_0"[style="solid" shape="record" label="{
MEM_ALLOC
| {{ID | node handle} | {0 (topoId: 2) | 0x000056507013C950}}
| {{{poolProps | {allocType | handleTypes | {location | {type | id}}} | {PINNED | NONE | DEVICE | 0}}}}
| {{bytesize | dptr} | {3145728 | 0x0000002A9A000000}}
}"];

"graph_3_node_1"[style="solid" shape="record" label="{
MEMCPY
| {{ID | node handle} | {1 (topoId: 1) | 0x000056507013C1E8}}
| {{src | dst} | { MemoryType | Array | Host | Device | XInBytes | Y | Z | Pitch | Height | LOD | MemoryType | Array | Host | Device | XInBytes | Y | Z | Pitch | Height | LOD} | {HOST (HOST PINNED) | 0x0000000000000000 | 0x00007FC2F1E00000 | 0x0000000000000000 | 0 | 0 | 0 | 0 | 0 | 0 | HOST (DEVICE) | 0x0000000000000000 | 0x0000002A9A000000 | 0x0000000000000000 | 0 | 0 | 0 | 0 | 0 | 0}}
| {Extent | {WidthInBytes | Height | Depth} | {400 | 1 | 1}}
}"];

"graph_3_node_2"[style="solid" shape="record" label="{
MEM_FREE
| {{ID | node handle} | {2 (topoId: 0) | 0x000056507013D0B8}}
| {{dptr} | {0x0000002A9A000000}}
}"];

"graph_3_node_0" -> "graph_3_node_1" [headlabel=0];
"graph_3_node_1" -> "graph_3_node_2" [headlabel=0];
}
}
)DOT";

TEST(GraphRealText, MemoryHasItsSize) {
  const drawn_graph graph = read(memory);
  EXPECT_EQ(descriptions(graph),
            (texts{"allocate 3 MiB", "copy 400 bytes, host to device", "free 3 MiB"}));
}

constexpr std::string_view events_and_values = R"DOT(digraph dot {
subgraph cluster_4 {
label="graph_4" graph[style="dashed"];
"graph_4_node_0"[style="solid" shape="rectangle" label="0 (topoId: 3)
EVENT_RECORD
node handle: 0x000056507013D0B8
event: 0x00005650701DEFE0
"];

"graph_4_node_1"[style="solid" shape="rectangle" label="1 (topoId: 2)
EVENT_WAIT
node handle: 0x000056507013C1E8
event: 0x0000565070179C70
"];

"graph_4_node_2"[style="solid" shape="record" label="{
BATCH_MEM_OP
| {{ID | node handle | count | flags } | {2 (topoId: 1) | 0x000056507013C950 | 1 | 0x00000000 }}
| {{{paramArray[0] | {op | addr | val | flags }}}
| {WRITE_VALUE_32 | 0x00007FC2F1E00200 | 0x00000007 | DEFAULT}}
}"];

"graph_4_node_3"[style="solid" shape="record" label="{
BATCH_MEM_OP
| {{ID | node handle | count | flags } | {3 (topoId: 0) | 0x000056507013BA80 | 2 | 0x00000000 }}
| {{{paramArray[0] | {op | addr | val | flags }}
| {paramArray[1] | {op | addr | val | flags }}}
| {WAIT_VALUE_32 | 0x00007FC2F1E00200 | 0x00000007 | GEQ
| WRITE_VALUE_32 | 0x00007FC2F1E00200 | 0x00000008 | DEFAULT}}
}"];

"graph_4_node_0" -> "graph_4_node_1" [headlabel=0];
"graph_4_node_1" -> "graph_4_node_2" [headlabel=0];
"graph_4_node_2" -> "graph_4_node_3" [headlabel=0];
}
"graph_4_node_0"[weir_event="ready"];
}
)DOT";

TEST(GraphRealText, EventsHaveNamesAndValuesAreDescribed) {
  const drawn_graph graph = read(events_and_values);
  EXPECT_EQ(descriptions(graph), (texts{"record event \"ready\"", "wait for event 1",
                                        "write value 7", "1 value wait, 1 value write"}));
}

constexpr std::string_view child_graphs = R"DOT(digraph dot {
subgraph cluster_8 {
label="graph_8" graph[style="dashed"];
"graph_8_node_0"[style="solid" shape="rectangle" label="0
graph_9
"];

"graph_8_node_2"[style="solid" shape="rectangle" label="2
graph_14
"];

"graph_8_node_0" -> "graph_8_node_2";
}
subgraph cluster_9 {
label="graph_9" graph[style="dashed"];
"graph_9_node_0"[style="solid" shape="rectangle" label="0
graph_10
"];

"graph_9_node_1"[style="solid" shape="invtrapezium"label="1
MEMSET
(2,400)
"];

"graph_9_node_0" -> "graph_9_node_1";
}
subgraph cluster_14 {
label="graph_14" graph[style="dashed"];
}
subgraph cluster_10 {
label="graph_10" graph[style="dashed"];
"graph_10_node_0"[style="solid" shape="invtrapezium"label="0
MEMSET
(1,400)
"];

}
"graph_9_node_1"[weir_tag="in the child"];
}
)DOT";

TEST(GraphRealText, ChildGraphsAreParts) {
  const drawn_graph graph = read(child_graphs);
  EXPECT_EQ(
      descriptions(graph),
      (texts{"child graph {: child graph {: fill 400 bytes}: fill 400 bytes}", "child graph {}"}));
  EXPECT_EQ(graph.nodes[0].parts[0].nodes[1].tag, "in the child");
}

constexpr std::string_view conditionals = R"DOT(digraph dot {
subgraph cluster_15 {
label="graph_15" graph[style="dashed"];
"graph_15_node_0"[style="bold" shape="record" label="{
CONDITIONAL
| {ID | 0 (topoId: 3)}
| {node handle| 0x000056507013BA80}
| {Conditional Handle|1}
| {Conditional Type| IF}
| {True|graph_16}
}
"];

"graph_15_node_1"[style="bold" shape="record" label="{
CONDITIONAL
| {ID | 1 (topoId: 2)}
| {node handle| 0x000056507013C950}
| {Conditional Handle|2}
| {Conditional Type| WHILE}
| {True|graph_17}
}
"];

"graph_15_node_2"[style="bold" shape="record" label="{
CONDITIONAL
| {ID | 2 (topoId: 1)}
| {node handle| 0x0000565070140490}
| {Conditional Handle|3}
| {Conditional Type| IF}
| {True | graph_18}
| {False| graph_19}
}
"];

"graph_15_node_3"[style="bold" shape="record" label="{
CONDITIONAL
| {ID | 3 (topoId: 0)}
| {node handle| 0x000056507013FD28}
| {Conditional Handle|4}
| {Conditional Type| SWITCH}
| {0|  graph_20}
| {1|  graph_21}
}
"];

"graph_15_node_0" -> "graph_15_node_1" [headlabel=0];
"graph_15_node_1" -> "graph_15_node_2" [headlabel=0];
"graph_15_node_1" -> "graph_15_node_3" [headlabel=0];
}
subgraph cluster_16 {
label="graph_16" graph[style="dashed"];
"graph_16_node_0"[style="solid" style="solid" shape="record" label="{MEMSET
| {{ID | node handle | dptr | pitch | value | elementSize | width | height} | {0 (topoId: 0) | 0x000056507013D0B8 | 0x0000000302000000 | 0 | 1 | 4 | 100 | 1}}}"];

}
subgraph cluster_17 {
label="graph_17" graph[style="dashed"];
"graph_17_node_0"[style="solid" style="solid" shape="record" label="{MEMSET
| {{ID | node handle | dptr | pitch | value | elementSize | width | height} | {0 (topoId: 0) | 0x000056507013C1E8 | 0x0000000302000000 | 0 | 2 | 4 | 100 | 1}}}"];

}
subgraph cluster_18 {
label="graph_18" graph[style="dashed"];
}
subgraph cluster_19 {
label="graph_19" graph[style="dashed"];
"graph_19_node_0"[style="solid" style="solid" shape="record" label="{MEMSET
| {{ID | node handle | dptr | pitch | value | elementSize | width | height} | {0 (topoId: 0) | 0x000056507013E6F0 | 0x0000000302000000 | 0 | 3 | 4 | 100 | 1}}}"];

}
subgraph cluster_20 {
label="graph_20" graph[style="dashed"];
}
subgraph cluster_21 {
label="graph_21" graph[style="dashed"];
}
}
)DOT";

TEST(GraphRealText, BodiesOfConditionalNodesAreParts) {
  const drawn_graph graph = read(conditionals);
  EXPECT_EQ(
      descriptions(graph),
      (texts{"if {if not 0: fill 400 bytes}", "while {while not 0: fill 400 bytes}",
             "if, else {if not 0} {else: fill 400 bytes}", "switch of 2 cases {case 0} {case 1}"}));
}

constexpr std::string_view kernels = R"DOT(digraph dot {
subgraph cluster_22 {
label="graph_22" graph[style="dashed"];
"graph_22_node_0"[style="bold" shape="record" label="{KERNEL
| {ID | 0 (topoId: 1) | first\<\<\<2,32,0\>\>\>}
| {{node handle | func handle} | {0x000056507013FD28 | 0x00005650707EC1F0}}
| {accessPolicyWindow | {base_ptr | num_bytes | hitRatio | hitProp | missProp} | {0x0000000000000000 | 0 | 0.000000 | N | N}}
| {cooperative | 0}
| {priority | 0}
}"];

"graph_22_node_1"[style="bold" shape="record" label="{KERNEL
| {ID | 1 (topoId: 0) | first\<\<\<\{2,3,4\},\{8,4\},64\>\>\>}
| {{node handle | func handle} | {0x0000565070140490 | 0x00005650707EC1F0}}
| {accessPolicyWindow | {base_ptr | num_bytes | hitRatio | hitProp | missProp} | {0x0000000000000000 | 0 | 0.000000 | N | N}}
| {cooperative | 0}
| {priority | 0}
}"];

"graph_22_node_0" -> "graph_22_node_1" [headlabel=0];
}
}
)DOT";

TEST(GraphRealText, KernelsHaveNamesAndThreads) {
  const drawn_graph graph = read(kernels);
  EXPECT_EQ(descriptions(graph),
            (texts{"kernel first, 2 x 32 threads", "kernel first, 24 x 32 threads"}));
}

}  // namespace
}  // namespace weir::tool
