// SPDX-License-Identifier: Apache-2.0
// graph_fixture.hpp - graphs for queries, launches and updates, and memory whose contents show what
// has run.
#pragma once

#include <weir/capture/capture.hpp>
#include <weir/graph/graph.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <gtest/gtest.h>

namespace weir::test {

class graph_fixture : public ::testing::Test {
 protected:
  [[nodiscard]] int first_element() {
    copy(s, x, host);
    s.sync();
    return host[0];
  }
  [[nodiscard]] graph fill_graph(int value) {
    return capture(s, [&] { fill(s, x, value); });
  }
  // A chain of fills, each after the previous one.
  [[nodiscard]] graph fill_chain_graph(int first, int count) {
    return capture(s, [&] {
      for (int i = 0; i < count; ++i) fill(s, x, first + i);
    });
  }

  device gpu;
  stream s{gpu};
  stream t{gpu};
  buffer<int> x{s, 100};
  pinned_buffer<int> host{100};
};

}  // namespace weir::test
