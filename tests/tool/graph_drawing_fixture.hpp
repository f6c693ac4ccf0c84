// SPDX-License-Identifier: Apache-2.0
// graph_drawing_fixture.hpp - drawings of graphs by `weir graph`, from the driver's description.
#pragma once

#include <weir/graph/graph.hpp>
#include <weir/graph/graph_nodes.hpp>

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "api/graph/graph_fixture.hpp"
#include "graph/dot_text.hpp"
#include "graph/drawing.hpp"
#include "graph/drawn_graph.hpp"

namespace weir::tool {

inline constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

[[nodiscard]] inline std::string drawing_of(graph_ref graph, const drawing_options& options = {},
                                            dot_detail details = dot_detail::verbose) {
  return drawing_of(read_drawn_graph(parse_dot(graph.dot(details), "graph.dot")), options);
}

[[nodiscard]] inline std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t found = text.find(part); found != std::string::npos;
       found = text.find(part, found + part.size()))
    ++count;
  return count;
}

class graph_drawing_fixture : public test::graph_fixture {
 protected:
  // Adds fills, each after the previous one.
  void add_fills(graph_ref target, int count) {
    graph_node last;
    for (int i = 0; i < count; ++i) {
      last = last ? target.add(fill_parameters{x, i}, last) : target.add(fill_parameters{x, i});
    }
  }
  static void expect_in(const std::string& text, std::string_view part) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
  }
  static void expect_not_in(const std::string& text, std::string_view part) {
    EXPECT_EQ(text.find(part), std::string::npos) << part << "\nis in\n" << text;
  }

  graph g;
};

}  // namespace weir::tool
