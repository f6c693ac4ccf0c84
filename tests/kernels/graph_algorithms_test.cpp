// SPDX-License-Identifier: Apache-2.0
// graph_algorithms_test.cpp - kernels over the nodes and edges of graphs.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <set>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

// An undirected graph as adjacency lists.
struct neighbours {
  static constexpr int nodes = 307;
  std::vector<int> starts{0};
  std::vector<int> targets;
  std::vector<int> edges;  // each edge once, as two nodes

  explicit neighbours(int count) {
    std::vector<std::set<int>> lists(nodes);
    const std::vector<int> ends = random_values<int>(2 * count, 0, nodes - 1, 11);
    for (int i = 0; i < count; ++i) {
      const int a = ends[2 * i];
      const int b = ends[2 * i + 1];
      if (a == b || !lists[a].insert(b).second) continue;
      lists[b].insert(a);
      edges.insert(edges.end(), {a, b});
    }
    for (const auto& list : lists) {
      targets.insert(targets.end(), list.begin(), list.end());
      starts.push_back(static_cast<int>(targets.size()));
    }
  }
};

class GraphAlgorithms : public kernel_fixture {
 protected:
  const module& code = kernel_module("graph_algorithms");
};

TEST_F(GraphAlgorithms, BreadthFirstSearchFindsLevels) {
  const kernel next_level = code.kernel("next_level");
  const neighbours g{400};
  std::vector<int> expected(g.nodes, -1);
  expected[0] = 0;
  std::vector<int> queue{0};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (int e = g.starts[queue[i]]; e < g.starts[queue[i] + 1]; ++e) {
      if (expected[g.targets[e]] >= 0) continue;
      expected[g.targets[e]] = expected[queue[i]] + 1;
      queue.push_back(g.targets[e]);
    }
  }
  const int depth = std::ranges::max(expected);
  ASSERT_GT(depth, 3);
  for (const unsigned block : {32u, 96u}) {
    std::vector<int> start(g.nodes, -1);
    start[0] = 0;
    std::vector<int> sizes(depth + 2);
    sizes[0] = 1;
    trial t{s};
    auto& starts = t.array_of(g.starts);
    auto& targets = t.array_of(g.targets);
    auto& levels = t.array_of(start);
    auto& size = t.array_of(sizes);
    std::vector<array<int>*> lists;
    for (int level = 0; level <= depth + 1; ++level) lists.push_back(&t.zeros<int>(g.nodes));
    t.run(
        [&](stream_ref on) {
          for (int level = 0; level <= depth; ++level) {
            run(on, {.grid = {2}, .block = {block}}, next_level, starts, targets, *lists[level],
                size.data() + level, *lists[level + 1], size.data() + level + 1, levels, level + 1);
          }
        },
        [&] { expect_equal(levels.read(), expected); });
  }
}

TEST_F(GraphAlgorithms, LabelPropagationFindsComponents) {
  const neighbours g{200};
  std::vector<int> expected(g.nodes);
  std::iota(expected.begin(), expected.end(), 0);
  for (bool changed = true; changed;) {  // each node takes the minimum of its neighbors
    changed = false;
    for (int node = 0; node < g.nodes; ++node) {
      for (int e = g.starts[node]; e < g.starts[node + 1]; ++e) {
        if (expected[g.targets[e]] < expected[node]) {
          expected[node] = expected[g.targets[e]];
          changed = true;
        }
      }
    }
  }
  std::vector<int> own(g.nodes);
  std::iota(own.begin(), own.end(), 0);
  const int count = static_cast<int>(g.edges.size() / 2);
  for (const unsigned block : {32u, 50u, 256u}) {
    trial t{s};
    auto& edges = t.array_of(g.edges);
    auto& parents = t.array_of(own);
    t.run(
        [&](stream_ref on) {
          run(on, grid_1d(count, block), code.kernel("unite"), edges, count, parents);
          run(on, grid_1d(g.nodes, block), code.kernel("flatten"), parents, g.nodes);
        },
        [&] { expect_equal(parents.read(), expected); });
  }
}

TEST_F(GraphAlgorithms, RelaxationFindsShortestDistances) {
  const neighbours g{900};
  const int count = static_cast<int>(g.edges.size());
  std::vector<int> edges;
  const std::vector<int> lengths = random_values<int>(count, 1, 50, 12);
  for (int i = 0; i < count; ++i)
    edges.insert(edges.end(), {g.edges[i], g.edges[i ^ 1], lengths[i]});
  std::vector<std::uint32_t> start(g.nodes, ~0u);
  start[5] = 0;
  std::vector<std::uint32_t> expected = start;
  int rounds = 0;
  for (bool changed = true; changed; ++rounds) {
    changed = false;
    std::vector<std::uint32_t> next = expected;
    for (int i = 0; i < count; ++i) {
      const std::uint32_t from = expected[edges[3 * i]];
      std::uint32_t& to = next[edges[3 * i + 1]];
      if (from != ~0u && from + static_cast<std::uint32_t>(edges[3 * i + 2]) < to) {
        to = from + static_cast<std::uint32_t>(edges[3 * i + 2]);
        changed = true;
      }
    }
    expected = next;
  }
  trial t{s};
  auto& e = t.array_of(edges);
  auto& distances = t.array_of(start);
  auto& changed = t.zeros<int>(1);
  auto& at_last = t.zeros<int>(1);
  t.run(
      [&](stream_ref on) {
        for (int round = 0; round < rounds; ++round) {
          run(on, grid_1d(count, 128), code.kernel("relax_edges"), e, count, distances, changed);
        }
        run(on, grid_1d(count, 96), code.kernel("relax_edges"), e, count, distances, at_last);
      },
      [&] {
        expect_equal(distances.read(), expected);
        expect_equal(changed.read(), {1});
        expect_equal(at_last.read(), {0});
      });
}

TEST_F(GraphAlgorithms, FloydWarshallFindsAllDistances) {
  const int n = 45;
  std::vector<std::uint16_t> start = random_values<std::uint16_t>(n * n, 1, 5000);
  for (int i = 0; i < n; ++i) start[i * n + i] = 0;
  std::vector<std::uint16_t> expected = start;
  for (int via = 0; via < n; ++via) {
    for (int from = 0; from < n; ++from) {
      for (int to = 0; to < n; ++to) {
        const int way = expected[from * n + via] + expected[via * n + to];
        expected[from * n + to] =
            static_cast<std::uint16_t>(std::min<int>(expected[from * n + to], way));
      }
    }
  }
  trial t{s};
  auto& distances = t.array_of(start);
  t.run(
      [&](stream_ref on) {
        for (int via = 0; via < n; ++via)
          run(on, grid_2d(n, n, 16, 16), code.kernel("through"), distances, n, via);
      },
      [&] { expect_equal(distances.read(), expected); });
}

TEST_F(GraphAlgorithms, IntersectionCountsTriangles) {
  const neighbours g{4000};
  std::uint64_t expected = 0;
  const auto linked = [&](int a, int b) {
    return std::binary_search(g.targets.begin() + g.starts[a], g.targets.begin() + g.starts[a + 1],
                              b);
  };
  for (int a = 0; a < g.nodes; ++a) {
    for (int b = a + 1; b < g.nodes; ++b) {
      if (!linked(a, b)) continue;
      for (int c = b + 1; c < g.nodes; ++c) expected += linked(a, c) && linked(b, c) ? 1 : 0;
    }
  }
  ASSERT_GT(expected, 100u);
  for (const unsigned block : {32u, 160u}) {
    trial t{s};
    auto& starts = t.array_of(g.starts);
    auto& targets = t.array_of(g.targets);
    auto& count = t.zeros<std::uint64_t>(1);
    t.run(
        [&](stream_ref on) {
          run(on, grid_1d(g.nodes, block), code.kernel("triangles"), starts, targets, g.nodes,
              count);
        },
        [&] { expect_equal(count.read(), {expected}); });
  }
}

}  // namespace
}  // namespace weir::test
