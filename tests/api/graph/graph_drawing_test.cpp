// SPDX-License-Identifier: Apache-2.0
// graph_drawing_test.cpp - drawings of graphs: node texts, source lines, clusters, folding,
// escaping.
#include <weir/capture/capture.hpp>
#include <weir/event/event.hpp>
#include <weir/graph/graph_drawing.hpp>
#include <weir/graph/graph_nodes.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/fill.hpp>
#include <weir/profiler/name.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/sync/wait_word.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "api/graph/node_metadata.hpp"
#include "graph_fixture.hpp"
#include "support/errors.hpp"
#include "support/temporary_folder.hpp"

namespace weir {
namespace {

using test::failure_of;
using test::result_of;

constexpr std::size_t never = static_cast<std::size_t>(-1);

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + part.size()))
    ++count;
  return count;
}

// A line of this file as a drawing shows it.
std::string this_line(call_site at = call_site::current()) {
  return "graph_drawing_test.cpp:" + std::to_string(at.line());
}

// Limits the size of files, to simulate a full disk.
class limited_file_size {
 public:
  limited_file_size() : handler_{std::signal(SIGXFSZ, SIG_IGN)} {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit tiny{100, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &tiny);
  }
  limited_file_size(const limited_file_size&) = delete;
  limited_file_size& operator=(const limited_file_size&) = delete;
  ~limited_file_size() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

class GraphDrawing : public test::graph_fixture {
 protected:
  // Adds fills, each after the previous one.
  void add_fills(graph_ref to, int count) {
    graph_node last;
    for (int i = 0; i < count; ++i) {
      last = last ? to.add(fill_parameters{x, i}, last) : to.add(fill_parameters{x, i});
    }
  }
  void expect_in(const std::string& text, std::string_view part) const {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
  }
  void expect_not_in(const std::string& text, std::string_view part) const {
    EXPECT_EQ(text.find(part), std::string::npos) << part << "\nis in\n" << text;
  }

  graph g;
};

TEST_F(GraphDrawing, ABoxDescribesTheOperationOfItsNode) {
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

TEST_F(GraphDrawing, EventsAreShownByNameOrNumber) {
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

TEST_F(GraphDrawing, GraphMemoryAndValueOperationsAreDescribed) {
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

TEST_F(GraphDrawing, ABoxShowsTheLineThatAddedItsNode) {
  const fill_node a = g.add(fill_parameters{x, 1});
  const int number = __LINE__ - 1;
  const std::string line_of_a =
      this_line().replace(this_line().find(':'), std::string::npos, ":" + std::to_string(number));
  expect_in(drawing_of(g), line_of_a + "<");
  expect_not_in(drawing_of(g, {.call_sites = false}), "graph_drawing_test.cpp");
  g.add(fill_parameters{x, 2}, {a}, call_site::current("/folder/plugin.cpp", 12));
  const std::string both = drawing_of(g);
  expect_in(both, ">plugin.cpp:12<");
  expect_not_in(both, "/folder");
  EXPECT_EQ(g.add(fill_parameters{x, 3}, {}, call_site{}).parameters().value(), 3u);
  EXPECT_EQ(count_of(drawing_of(g), ".cpp:"), 2u) << "an unknown line is not drawn";
}

// The file name of a call site may belong to a library that is unloaded later, so it is copied.
TEST_F(GraphDrawing, TheFileNameOfACallSiteIsCopied) {
  std::string path = "/folder/gone.cpp";
  g.add(fill_parameters{x, 1}, {}, call_site::current(path.c_str(), 5));
  path = "/folder/else.cpp";
  expect_in(drawing_of(g), ">gone.cpp:5<");
}

TEST_F(GraphDrawing, ANodeDoesNotInheritTheLineOfARemovedNode) {
  for (int i = 0; i < 20; ++i) {
    const fill_node gone = g.add(fill_parameters{x, 1}, {}, call_site::current("gone.cpp", 1));
    g.remove(gone);
    g.add(fill_parameters{x, 1}, {}, call_site::current("there.cpp", 2));
    g.add(fill_parameters{x, 1}, {}, call_site{});
  }
  const std::string text = drawing_of(g, {.fold_above = never});
  expect_not_in(text, "gone.cpp");
  EXPECT_EQ(count_of(text, "there.cpp:2"), 20u);
  EXPECT_EQ(detail::get_call_sites(g.get()).size(), 40u)
      << "call sites of removed nodes are dropped";
  g.close();
  for (int i = 0; i < 20; ++i) {  // handles are reused
    const graph captured = fill_graph(1);
    expect_not_in(drawing_of(captured), ".cpp:");
  }
}

TEST_F(GraphDrawing, CapturedNodesShowTagsAndNoLines) {
  const graph captured = fill_chain_graph(1, 3);
  captured.ref().tag(captured.nodes().front(), "first");
  const std::string text = drawing_of(captured);
  expect_in(text, "<B>first</B><BR/>fill 400 bytes>");
  expect_not_in(text, ".cpp:");
  EXPECT_EQ(count_of(text, "->"), 2u) << text;
}

TEST_F(GraphDrawing, CopiesOfAGraphHaveEqualDrawings) {
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

TEST_F(GraphDrawing, EqualGraphsAtDifferentAddressesHaveEqualDrawings) {
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

TEST_F(GraphDrawing, ChildGraphsAndBodiesAreDrawnAsFrames) {
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

TEST_F(GraphDrawing, RepeatedNodesOfLongGraphsAreFolded) {
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

TEST_F(GraphDrawing, NodesWithTagsOrBranchesAreNotFolded) {
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

TEST_F(GraphDrawing, ARepeatedSequenceIsFoldedIntoOneBox) {
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
  expect_in(text, " ... graph_drawing_test.cpp:");  // of three lines, the first and the last
  EXPECT_EQ(count_of(text, "->"), 1u) << text;
}

TEST_F(GraphDrawing, ACycleIsDrawn) {
  add_fills(g, 6);
  const std::vector<graph_node> nodes = g.nodes();
  g.add_dependency(nodes[5], nodes[0]);
  EXPECT_EQ(count_of(drawing_of(g), "->"), 6u);
  EXPECT_FALSE(drawing_of(g, {.fold_above = 0}).empty());
}

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
  EXPECT_EQ(drawn_tag("\\n{x|y}"), "\\n{x|y}");
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

// If Graphviz is installed, it accepts every drawing without a warning.
TEST_F(GraphDrawing, GraphvizAcceptsTheDrawing) {
  if (std::system("command -v dot >/dev/null 2>&1") != 0) GTEST_SKIP() << "needs Graphviz";
  add_fills(g, 10);
  const condition c{g, 1};
  g.add(if_else_parameters{c}).body().add(child_graph_parameters{fill_chain_graph(1, 2)});
  const std::array tags{"a<b>&\"", "\\", "  ", "\xFF\x01\n", "-->", "]]>", "%n", "&amp;"};
  for (const char* tag : tags) g.tag(g.add(fill_parameters{x, 1}), tag);
  for (const drawing_direction direction : {drawing_direction::down, drawing_direction::right}) {
    FILE* const dot = ::popen("dot -Tsvg -o /dev/null 2>&1 | (! grep .)", "w");
    ASSERT_NE(dot, nullptr);
    std::fputs(drawing_of(g, {.direction = direction, .fold_above = 5}).c_str(), dot);
    EXPECT_EQ(::pclose(dot), 0) << "dot has printed a warning";
  }
}

TEST_F(GraphDrawing, AFileHoldsTheCompleteDrawingOrIsNotCreated) {
  g.add(fill_parameters{x, 1});
  const test::temporary_folder own;
  const std::filesystem::path& folder = own.path();
  const std::string path = folder / "graph.dot";
  write_drawing(g, path, {.legend = false});
  const auto text_of_file = [&] {
    std::ifstream file{path};
    return std::string{std::istreambuf_iterator<char>{file}, {}};
  };
  EXPECT_EQ(text_of_file(), drawing_of(g, {.legend = false}));
  const auto failure = failure_of([&] { write_drawing(g, folder / "none" / "graph.dot"); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::operating_system);
  EXPECT_NE(failure->hint().find((folder / "none" / "graph.dot").string()), std::string::npos)
      << failure->what();
  {
    const limited_file_size limit;
    const auto full = failure_of([&] { write_drawing(g, path); });
    ASSERT_TRUE(full);
    EXPECT_NE(full->hint().find(path + "': File too large"), std::string::npos) << full->what();
    EXPECT_EQ(result_of([&] { write_drawing(g, folder / "other.dot"); }), errc::operating_system);
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator{folder}, {}), 1);
  EXPECT_EQ(text_of_file(), drawing_of(g, {.legend = false})) << "the old file is unchanged";
}

TEST_F(GraphDrawing, ClosedGraphsAndHostFunctionsAreRefused) {
  g.close();
  EXPECT_EQ(result_of([&] { static_cast<void>(drawing_of(g)); }), errc::closed);
  const graph captured = fill_graph(1);
  errc answer = errc::success;
  launch_host(s, [&] { answer = result_of([&] { static_cast<void>(drawing_of(captured)); }); });
  s.sync();
  EXPECT_EQ(answer, errc::not_permitted);
}

TEST_F(GraphDrawing, AGraphIsDrawnWhileItIsCaptured) {
  const graph captured = capture(s, [&](capture_scope& scope) {
    fill(s, x, 1);
    expect_in(drawing_of(scope.graph()), "fill 400 bytes");
  });
  EXPECT_EQ(captured.node_count(), 1u);
}

}  // namespace
}  // namespace weir
