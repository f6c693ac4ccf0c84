// SPDX-License-Identifier: Apache-2.0
// graph_boxes_test.cpp - the boxes and frames of the drawings of `weir graph`: operations, tags,
// source lines, child graphs and bodies.
#include <weir/event/event.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/profiler/name.hpp>
#include <weir/sync/wait_word.hpp>

#include <cstdint>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "graph_drawing_fixture.hpp"

namespace weir::tool {
namespace {

class GraphBoxes : public graph_drawing_fixture {};

TEST_F(GraphBoxes, ABoxDescribesTheOperationOfItsNode) {
  buffer<unsigned char> rows{s, 64 * 4096};
  s.sync();
  const fill_node a = g.add(fill_parameters{x, 1});
  const copy_node b = g.add(copy_parameters{host, x}, {a});
  const copy_node c = g.add(copy_parameters{x, host}, {b});
  g.add(fill_parameters{rows.data(), 0, 1, 1024, 64, 4096});
  g.add(host_function_parameters{[] {}}, {c});
  const std::string text = drawing_of(g);
  expect_in(text, "fill 400 bytes<");
  expect_in(text, "copy 400 bytes, host to device<");
  expect_in(text, "copy 400 bytes, device to host<");
  expect_in(text, "fill 64 rows of 1 KiB<");
  expect_in(text, "host function<");
  EXPECT_EQ(count_of(text, "->"), 3u) << text;
}

TEST_F(GraphBoxes, TheShortestDescriptionGivesSizesAndDirections) {
  const allocation_node a = g.add(allocation_parameters{gpu, 4096});
  const copy_node b = g.add(copy_parameters{host, x}, {a});
  g.tag(b, "load");
  g.add(fill_parameters{x, 1}, {b});
  const std::string text = drawing_of(g, {}, dot_detail::names);
  expect_in(text, "allocate<");
  expect_in(text, "<B>load</B><BR/>copy 400 bytes, host to device<");
  expect_in(text, "fill 400 bytes<");
}

TEST_F(GraphBoxes, EventsAreShownByNameOrNumber) {
  event named{gpu};
  event first{gpu};
  event second{gpu};
  set_name(named, "batch ready");
  const event_record_node a = g.add(event_record_parameters{named});
  const event_wait_node b = g.add(event_wait_parameters{first}, {a});
  const event_record_node c = g.add(event_record_parameters{second}, {b});
  g.add(event_record_parameters{first}, {c});
  const std::string text = drawing_of(g);
  expect_in(text, "record event &quot;batch ready&quot;<");
  expect_in(text, "wait for event 1<");
  expect_in(text, "record event 2<");
  expect_in(text, "record event 1<");
}

TEST_F(GraphBoxes, GraphMemoryAndValueOperationsAreDescribed) {
  wait_word<std::uint32_t> w;
  const allocation_node a = g.add(allocation_parameters{gpu, 3 << 20});
  const copy_node b = g.add(copy_parameters{host, a.memory<int>().first(100)}, {a});
  const free_node c = g.add(free_parameters{a}, {b});
  const value_batch_node d = g.add(value_batch_parameters{value_batch{}.write(w, 7)}, {c});
  const value_batch_node e =
      g.add(value_batch_parameters{value_batch{}.wait(w, until::geq, 7)}, {d});
  g.add(value_batch_parameters{value_batch{}.wait(w, until::eq, 7).write(w, 8).write(w, 9)}, {e});
  const std::string text = drawing_of(g);
  expect_in(text, "allocate 3 MiB<");
  expect_in(text, "copy 400 bytes, host to device<");
  expect_in(text, "free 3 MiB<");
  expect_in(text, "write value 7<");
  expect_in(text, "wait for value &gt;= 7<");
  expect_in(text, "1 value wait, 2 value writes<");
}

TEST_F(GraphBoxes, ABoxShowsTheLineThatAddedItsNode) {
  const fill_node a = g.add(fill_parameters{x, 1});
  const std::string line = "graph_boxes_test.cpp:" + std::to_string(__LINE__ - 1);
  expect_in(drawing_of(g), line + "<");
  expect_not_in(drawing_of(g, {.call_sites = false}), "graph_boxes_test.cpp");
  g.add(fill_parameters{x, 2}, {a}, call_site::current("/folder/plugin.cpp", 12));
  expect_in(drawing_of(g), ">plugin.cpp:12<");
}

TEST_F(GraphBoxes, CapturedNodesShowTagsAndNoLines) {
  const graph captured = fill_chain_graph(1, 3);
  captured.ref().tag(captured.nodes().front(), "first");
  const std::string text = drawing_of(captured);
  expect_in(text, "<B>first</B><BR/>fill 400 bytes>");
  expect_not_in(text, ".cpp:");
  EXPECT_EQ(count_of(text, "->"), 2u) << text;
}

TEST_F(GraphBoxes, CopiesOfAGraphHaveEqualDrawings) {
  graph child;
  child.tag(child.add(fill_parameters{x, 1}), "inner");
  const fill_node a = g.add(fill_parameters{x, 2});
  const child_graph_node b = g.add(child_graph_parameters{child}, {a});
  g.tag(b, "whole");
  const std::string text = drawing_of(g);
  EXPECT_EQ(drawing_of(g), text);
  EXPECT_EQ(drawing_of(g.clone()), text);
  EXPECT_EQ(drawing_of(g.clone().clone()), text);
  expect_not_in(text, "0x");
  const graph holder;
  const child_graph_node moved = add_moved_child(holder, std::move(g));
  expect_in(drawing_of(holder), "inner");
  EXPECT_EQ(drawing_of(moved.child()), text);
}

TEST_F(GraphBoxes, EqualGraphsAtDifferentAddressesHaveEqualDrawings) {
  const auto make = [&] {
    graph made;
    event e{gpu};
    const fill_node a = made.add(fill_parameters{buffer<int>{s, 100}, 1});
    const fill_node b = made.add(fill_parameters{x, 1});
    const event_record_node c = made.add(event_record_parameters{std::move(e)}, {b, a});
    made.add(host_function_parameters{[] {}}, {a, c});
    made.add_dependency(a, made.join({b, c}));
    return made;
  };
  const graph one = make();
  const graph other = make();
  EXPECT_EQ(drawing_of(one), drawing_of(other));
}

TEST_F(GraphBoxes, ChildGraphsAndBodiesAreDrawnAsFrames) {
  graph child;
  const fill_node inside = child.add(fill_parameters{x, 1});
  child.add(fill_parameters{x, 2}, {inside});
  const child_graph_node a = g.add(child_graph_parameters{child});
  const condition c{g, 1};
  const conditional_node b = g.add(if_else_parameters{c}, {a});
  b.body(0).add(child_graph_parameters{child});
  const condition d{g, 0};
  const conditional_node loop = g.add(while_parameters{d}, {b});
  loop.body().add(fill_parameters{x, 3});
  g.add(switch_parameters{condition{g, 1}, 2}, {loop});
  const std::string text = drawing_of(g);
  EXPECT_EQ(count_of(text, "subgraph cluster_"), 9u)
      << text;  // 2 child graphs, 3 conditional nodes, 4 bodies of nodes with several bodies
  EXPECT_EQ(count_of(text, "{"), count_of(text, "}")) << text;
  expect_in(text, "child graph<");
  expect_in(text, "if, else<");
  expect_in(text, "label=<if not 0>");
  expect_in(text, "label=<else>");
  expect_in(text, "while not 0<");
  expect_in(text, "switch of 2 cases<");
  expect_in(text, "label=<case 1>");
  EXPECT_EQ(count_of(text, "label=\"nothing\""), 3u) << text;
  expect_in(text, "n0_out -> n1_in [ltail=cluster_n0, lhead=cluster_n1];");
}

// Graphviz replaces \N and \G by the names of the node and of the graph.
TEST_F(GraphBoxes, ABackslashInATagIsDrawn) {
  const fill_node node = g.add(fill_parameters{x, 1});
  g.tag(node, R"(C:\New\Games)");
  expect_in(drawing_of(g), "C:&#92;New&#92;Games");
}

}  // namespace
}  // namespace weir::tool
