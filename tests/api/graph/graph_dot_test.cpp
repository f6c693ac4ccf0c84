// SPDX-License-Identifier: Apache-2.0
// graph_dot_test.cpp - what weir adds to the driver's description of a graph: tags, call sites and
// names of events.
#include <weir/capture/capture.hpp>
#include <weir/event/event.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/graph_nodes.hpp>
#include <weir/profiler/name.hpp>

#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/graph/graph_metadata.hpp"
#include "graph_fixture.hpp"
#include "support/errors.hpp"
#include "support/temporary_folder.hpp"

namespace weir {
namespace {

using test::failure_of;

std::size_t count_in(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t found = text.find(part); found != std::string::npos;
       found = text.find(part, found + part.size()))
    ++count;
  return count;
}

// Limits the size of files, to simulate a full disk.
class limited_file_size {
 public:
  limited_file_size() : handler_{std::signal(SIGXFSZ, SIG_IGN)} {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit tiny{10000, before_.rlim_max};
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

class GraphDot : public test::graph_fixture {
 protected:
  // Expects that the description contains the text a number of times.
  void expect_count(graph_ref described, std::string_view text, std::size_t count) const {
    EXPECT_EQ(count_in(described.dot(), text), count) << text << "\nin\n" << described.dot();
  }

  graph g;
};

TEST_F(GraphDot, TagsAndCallSitesAreAttributesOfTheirNodes) {
  const fill_node a = g.add(fill_parameters{x, 1}, {}, call_site::current("/folder/a.cpp", 12));
  g.tag(a, "first");
  g.add(fill_parameters{x, 2}, {a}, call_site::current("/folder/b.cpp", 13));
  expect_count(g, R"(weir_call_site="a.cpp:12" weir_tag="first"];)", 1);
  expect_count(g, R"([weir_call_site="b.cpp:13"];)", 1);
  expect_count(g, "/folder", 0);
  EXPECT_TRUE(g.dot().ends_with("];\n}\n")) << g.dot();
  EXPECT_EQ(count_in(g.dot(dot_detail::verbose), "weir_tag="), 1u);
}

TEST_F(GraphDot, ADescriptionContainsNoAddresses) {
  g.tag(g.add(fill_parameters{x, 1}), "fill");
  g.add(copy_parameters{x, host});
  expect_count(g, "0x", 0);
  EXPECT_EQ(g.dot(), g.dot());
}

TEST_F(GraphDot, AnUnknownCallSiteIsNoAttribute) {
  g.add(fill_parameters{x, 3}, {}, call_site{});
  expect_count(g, "weir_", 0);
}

// The file name of a call site may belong to a library that is unloaded later, so it is copied.
TEST_F(GraphDot, TheFileNameOfACallSiteIsCopied) {
  std::string path = "/folder/gone.cpp";
  g.add(fill_parameters{x, 1}, {}, call_site::current(path.c_str(), 5));
  path = "/folder/else.cpp";
  expect_count(g, "\"gone.cpp:5\"", 1);
}

TEST_F(GraphDot, ANodeDoesNotInheritTheLineOfARemovedNode) {
  for (int i = 0; i < 20; ++i) {
    const fill_node gone = g.add(fill_parameters{x, 1}, {}, call_site::current("gone.cpp", 1));
    g.remove(gone);
    g.add(fill_parameters{x, 1}, {}, call_site::current("there.cpp", 2));
    g.add(fill_parameters{x, 1}, {}, call_site{});
  }
  expect_count(g, "gone.cpp", 0);
  expect_count(g, "there.cpp:2", 20);
  {
    const detail::locked_graph_metadata metadata{g.get()};
    EXPECT_EQ(metadata->sites.size(), 40u) << "call sites of removed nodes are dropped";
  }
  g.close();
  for (int i = 0; i < 20; ++i) {  // handles are reused
    expect_count(fill_graph(1), ".cpp:", 0);
  }
}

TEST_F(GraphDot, ACapturedNodeHasATagAndNoCallSite) {
  const graph captured = fill_chain_graph(1, 3);
  captured.ref().tag(captured.nodes().front(), "first");
  expect_count(captured, "weir_tag=\"first\"", 1);
  expect_count(captured, "weir_call_site", 0);
}

TEST_F(GraphDot, AGraphIsDescribedWhileItIsCaptured) {
  const graph captured = capture(s, [&](capture_scope& scope) {
    fill(s, x, 1);
    scope.graph().tag(scope.graph().nodes().front(), "fill");
    expect_count(scope.graph(), "weir_tag=\"fill\"", 1);
  });
  EXPECT_EQ(captured.node_count(), 1u);
}

TEST_F(GraphDot, NodesOfChildGraphsAndBodiesHaveTheirAttributes) {
  graph child;
  child.tag(child.add(fill_parameters{x, 1}), "inner");
  const child_graph_node a = g.add(child_graph_parameters{child});
  g.tag(a, "whole");
  for (const graph& described : {g.clone(), g.clone().clone()}) {
    expect_count(described, "weir_tag=\"inner\"", 1);
    expect_count(described, "weir_tag=\"whole\"", 1);
  }
  graph conditional;
  const conditional_node b = conditional.add(if_parameters{condition{conditional, 1}});
  b.body().tag(b.body().add(fill_parameters{x, 2}), "body");
  expect_count(conditional, "weir_tag=\"body\"", 1);
  const graph holder;
  const child_graph_node moved = add_moved_child(holder, std::move(g));
  expect_count(holder, "weir_tag=\"inner\"", 1);
  expect_count(moved.child(), "weir_tag=\"whole\"", 1);
}

// A driver that numbers the edges gives them attributes too.
TEST_F(GraphDot, TheTopologyDoesNotChangeWhatIsAdded) {
  graph child;
  const fill_node a = child.add(fill_parameters{x, 1});
  const fill_node b = child.add(fill_parameters{x, 2}, {a});
  child.tag(b, "inner");
  const child_graph_node c = g.add(child_graph_parameters{child});
  g.add(child_graph_parameters{child}, {c});
  const auto added = [&](dot_detail details) {
    const std::string text = g.dot(details);
    return text.substr(text.find("}\n\"graph_") + 1);
  };
  const std::string names = added(dot_detail::names);
  EXPECT_EQ(count_in(names, "weir_tag=\"inner\""), 2u) << names;
  EXPECT_EQ(added(dot_detail::topology), names);
  EXPECT_EQ(added(dot_detail::verbose), names);
}

TEST_F(GraphDot, ANamedEventIsAnAttribute) {
  event named{gpu};
  event other{gpu};
  set_name(named, "batch ready");
  const event_record_node a = g.add(event_record_parameters{named}, {}, call_site{});
  g.add(event_wait_parameters{other}, {a}, call_site{});
  expect_count(g, "[weir_event=\"batch ready\"];", 1);
  expect_count(g, "weir_", 1);
}

TEST_F(GraphDot, QuotesAndBackslashesOfATagAreEscaped) {
  const fill_node node = g.add(fill_parameters{x, 1}, {}, call_site{});
  g.tag(node, R"(say "a\n" \)");
  expect_count(g, R"([weir_tag="say \"a\\n\" \\"];)", 1);
  g.tag(node, std::string_view{"a\0b", 3});
  expect_count(g, "[weir_tag=\"ab\"];", 1);
}

TEST_F(GraphDot, AFullDiskLeavesTheOldFile) {
  const test::temporary_folder own;
  const std::filesystem::path path = own.path() / "graph.dot";
  const auto text_of_file = [&] {
    std::ifstream file{path};
    return std::string{std::istreambuf_iterator<char>{file}, {}};
  };
  const fill_node node = g.add(fill_parameters{x, 1});
  g.write_dot(path);
  const std::string before = text_of_file();
  EXPECT_EQ(before, g.dot());
  g.tag(node, std::string(20'000, 't'));
  const limited_file_size limit;
  const auto failure = failure_of([&] { g.write_dot(path); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::operating_system);
  EXPECT_NE(failure->hint().find("File too large"), std::string::npos) << failure->what();
  EXPECT_EQ(text_of_file(), before) << "the old file is unchanged";
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator{own.path()}, {}), 1);
}

// /dev/stdout and bash's >(command) name descriptors. The text is written where the descriptor is.
TEST_F(GraphDot, ADescriptorIsWrittenTo) {
  g.add(empty_parameters{});
  const test::temporary_folder own;
  const std::string path = own.path() / "log";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(::write(file, "before ", 7), 7);
  g.write_dot("/dev/fd/" + std::to_string(file));
  ASSERT_EQ(::write(file, " after", 6), 6);
  EXPECT_EQ(::close(file), 0);
  std::ifstream written{path};
  EXPECT_EQ((std::string{std::istreambuf_iterator<char>{written}, {}}),
            "before " + g.dot() + " after");
}

}  // namespace
}  // namespace weir
