// SPDX-License-Identifier: Apache-2.0
// graph_test.cpp - graphs: queried, cloned, drawn, adopted, closed.
#include <weir/capture/capture.hpp>
#include <weir/core/deferred.hpp>
#include <weir/core/to_string.hpp>
#include <weir/device/context.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "driver/table.hpp"
#include "graph_fixture.hpp"
#include "support/closure_probe.hpp"
#include "support/errors.hpp"
#include "support/temporary_folder.hpp"

namespace weir {
namespace {

using detail::driver;
using test::failure_of;
using test::result_of;

class Graph : public test::graph_fixture {
 protected:
  // s: a -> b -> d, t: a -> c -> d
  [[nodiscard]] graph diamond() {
    return capture(s, [&] {
      fill(s, x, 1);
      t.wait(s);
      fill(s, x, 2);
      launch_host(t, [] {});
      s.wait(t);
      fill(s, x, 3);
    });
  }
};

TEST_F(Graph, AnEmptyGraphHasNoNodesAndCanBeLaunched) {
  const graph g;
  EXPECT_EQ(g.node_count(), 0u);
  EXPECT_TRUE(g.nodes().empty());
  EXPECT_TRUE(g.roots().empty());
  EXPECT_TRUE(g.edges().empty());
  const context_scope current{gpu};
  g.instantiate().launch(s);
  s.sync();
}

TEST_F(Graph, NodesAreListedInTopologicalOrder) {
  const graph g = diamond();
  const std::vector<graph_node> nodes = g.nodes();
  ASSERT_EQ(nodes.size(), 4u);
  EXPECT_EQ(g.node_count(), 4u);
  EXPECT_EQ(g.roots(), std::vector{nodes[0]});
  const std::vector<graph_edge> edges = g.edges();
  EXPECT_EQ(edges.size(), 4u);
  const auto place = [&](graph_node n) { return std::ranges::find(nodes, n) - nodes.begin(); };
  for (const graph_edge& edge : edges) {
    EXPECT_LT(place(edge.source), place(edge.target));
    EXPECT_EQ(edge.data, edge_data{});
  }
  EXPECT_EQ(nodes[0].kind(), node_kind::fill);
  EXPECT_EQ(
      std::ranges::count(nodes, node_kind::host_function, [](graph_node n) { return n.kind(); }),
      1);
}

// I5: in whatever order the driver lists them.
TEST_F(Graph, NodesAddedInReverseAreListedInTopologicalOrder) {
  const graph g;
  constexpr std::size_t count = 20;
  std::vector<abi::CUgraphNode> added(count);
  for (abi::CUgraphNode& node : added) {
    ASSERT_EQ(driver().cuGraphAddEmptyNode(&node, g.get(), nullptr, 0), abi::CUDA_SUCCESS);
  }
  for (std::size_t i = 0; i + 1 < count; ++i) {
    const abi::CUgraphNode from = added[i + 1];
    const abi::CUgraphNode to = added[i];
    ASSERT_EQ(driver().cuGraphAddDependencies_v2(g.get(), &from, &to, nullptr, 1),
              abi::CUDA_SUCCESS);
  }
  const std::vector<graph_node> nodes = g.nodes();
  ASSERT_EQ(nodes.size(), count);
  for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(nodes[i].get(), added[count - 1 - i]);
}

// Like rule 130: the error of a graph that cannot be instantiated says why. A cycle can be built
// and listed.
TEST_F(Graph, ACycleIsNamedWhereItIsInstantiated) {
  const graph g;
  abi::CUgraphNode a = nullptr;
  abi::CUgraphNode b = nullptr;
  ASSERT_EQ(driver().cuGraphAddEmptyNode(&a, g.get(), nullptr, 0), abi::CUDA_SUCCESS);
  ASSERT_EQ(driver().cuGraphAddEmptyNode(&b, g.get(), &a, 1), abi::CUDA_SUCCESS);
  ASSERT_EQ(driver().cuGraphAddDependencies_v2(g.get(), &b, &a, nullptr, 1), abi::CUDA_SUCCESS);
  EXPECT_EQ(g.nodes().size(), 2u);
  const context_scope current{gpu};
  const auto failure = failure_of([&] { static_cast<void>(g.instantiate()); });
  ASSERT_TRUE(failure);
  EXPECT_NE(failure->hint().find("cycle"), std::string::npos) << failure->what();
}

TEST_F(Graph, ACloneIsIndependentOfItsOriginal) {
  std::optional<graph> g{fill_graph(4)};
  const graph copy = g->clone();
  EXPECT_NE(copy.get(), g->get());
  const graph_node original = g->nodes().at(0);
  EXPECT_EQ(copy.find_clone_of(original), copy.nodes().at(0));
  EXPECT_NE(copy.nodes().at(0), original);
  g.reset();
  fill(s, x, 0);
  copy.instantiate().launch(s);
  EXPECT_EQ(first_element(), 4);
}

TEST_F(Graph, ACloneSharesTheKeptObjects) {
  test::closure_stats f;
  std::optional<graph> g{fill_graph(4)};
  g->keep(test::closure_probe{f});
  std::optional<graph> copy{g->clone()};
  g.reset();
  drain_deferred();
  EXPECT_EQ(f.destructions, 0);
  copy.reset();
  EXPECT_TRUE(test::is_destroyed_once(f));
}

// Rule 151.
TEST_F(Graph, DotLeavesNoFileOpen) {
  const graph g = diamond();
  static_cast<void>(g.dot());  // files that a driver keeps open are opened now
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator{"/proc/self/fd"},
                         std::filesystem::directory_iterator{});
  };
  const auto before = open_files();
  const std::string text = g.dot();
  EXPECT_NE(text.find("digraph"), std::string::npos) << text;
  EXPECT_GE(std::ranges::count(text, '>'), 4) << text;  // each edge contains one '>'
  EXPECT_GT(g.dot(dot_detail::verbose | dot_detail::handles).size(), text.size());
  EXPECT_EQ(open_files(), before);
}

TEST_F(Graph, AFileHoldsTheCompleteDescriptionOrIsNotCreated) {
  const graph g = diamond();
  const test::temporary_folder own;
  const std::filesystem::path& folder = own.path();
  const auto files = [&] { return std::distance(std::filesystem::directory_iterator{folder}, {}); };
  const auto text_of = [](const std::filesystem::path& path) {
    std::ifstream file{path};
    return std::string{std::istreambuf_iterator<char>{file}, {}};
  };
  const auto expect_refused = [&](const std::string& path, std::string_view reason) {
    const auto failure = failure_of([&] { g.write_dot(path); });
    ASSERT_TRUE(failure) << path;
    EXPECT_EQ(failure->result(), errc::operating_system);
    EXPECT_NE(failure->hint().find("'" + path + "'"), std::string::npos) << failure->what();
    EXPECT_NE(failure->hint().find(reason), std::string::npos) << failure->what();
  };

  const std::filesystem::path path = folder / "graph.dot";
  g.write_dot(path, dot_detail::topology);
  EXPECT_EQ(text_of(path), g.dot(dot_detail::topology));
  std::filesystem::permissions(path, std::filesystem::perms{0600});
  std::filesystem::create_symlink(path, folder / "link.dot");
  g.write_dot(folder / "link.dot");  // the link's target is written and keeps its permissions
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.dot"));
  EXPECT_EQ(text_of(path), g.dot());
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms{0600});
  EXPECT_EQ(files(), 2);
  std::filesystem::remove(path);
  g.write_dot(folder / "link.dot");  // also if the target does not exist
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.dot"));
  EXPECT_EQ(text_of(path), g.dot());
  EXPECT_EQ(files(), 2);
  std::filesystem::create_directory(folder / "further");
  std::filesystem::create_symlink("../link.dot", folder / "further" / "link.dot");
  std::filesystem::remove(path);
  g.write_dot(folder / "further" / "link.dot");
  EXPECT_EQ(text_of(path), g.dot());
  std::filesystem::remove_all(folder / "further");
  std::filesystem::create_symlink("round.dot", folder / "round.dot");
  expect_refused(folder / "round.dot", "symbolic links");
  std::filesystem::remove(folder / "round.dot");

  expect_refused(folder / "none" / "graph.dot", "No such file");
  expect_refused(folder, "Is a directory");
  expect_refused("", "No such file");
  expect_refused("/dev/full", "No space left");
  g.write_dot("/dev/null");
  EXPECT_FALSE(std::filesystem::is_regular_file("/dev/null"));
  graph closed = fill_graph(1);
  closed.close();
  EXPECT_EQ(result_of([&] { closed.write_dot(folder / "other.dot"); }), errc::closed);
  EXPECT_EQ(files(), 2);
}

TEST_F(Graph, AClosedOrMovedFromGraphThrowsClosed) {
  graph g = fill_graph(1);
  const graph taken = std::move(g);
  EXPECT_TRUE(g.closed());
  EXPECT_EQ(to_string(g), "closed graph");
  EXPECT_EQ(result_of([&] { static_cast<void>(g.nodes()); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(g.instantiate()); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(g.dot()); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(g.release()); }), errc::closed);
  EXPECT_EQ(result_of([&] { g.keep(1); }), errc::closed);
  g.close();
  g = fill_graph(2);
  EXPECT_EQ(g.node_count(), 1u);
  g.close();
  g.close();
  EXPECT_EQ(taken.node_count(), 1u);
  EXPECT_EQ(result_of([&] { static_cast<void>(graph_node{}.kind()); }), errc::invalid_value);
}

TEST_F(Graph, AGraphIsReleasedAndAdopted) {
  CUgraph_st* const handle = fill_graph(6).release();
  const graph g = graph::adopt(handle, gpu.primary_context());
  EXPECT_EQ(g.get(), handle);
  g.instantiate().launch(s);
  EXPECT_EQ(first_element(), 6);
  EXPECT_EQ(result_of([&] { static_cast<void>(graph::adopt(nullptr)); }), errc::invalid_handle);
  EXPECT_EQ(result_of([&] { static_cast<void>(graph_exec::adopt(nullptr)); }),
            errc::invalid_handle);
  const graph_exec exec = graph_exec::adopt(g.instantiate({.auto_free_on_launch = true}).release());
  EXPECT_TRUE(exec.options().auto_free_on_launch);
  exec.launch(s);
  s.sync();
}

TEST_F(Graph, HostFunctionsMayDestroyGraphsAndNothingElse) {
  auto g = std::make_unique<graph>(fill_graph(1));
  auto exec = std::make_unique<graph_exec>(g->instantiate());
  std::vector<errc> answers;
  launch_host(s, [&] {
    answers = {result_of([&] { static_cast<void>(g->node_count()); }),
               result_of([&] { static_cast<void>(g->instantiate()); }),
               result_of([&] { exec->launch(t); })};
    g.reset();
    exec.reset();
  });
  s.sync();
  EXPECT_EQ(answers, std::vector(3, errc::not_permitted));
  drain_deferred();
  EXPECT_EQ(deferred_count(), 0u);
}

}  // namespace
}  // namespace weir
