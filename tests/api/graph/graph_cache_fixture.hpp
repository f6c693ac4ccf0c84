// SPDX-License-Identifier: Apache-2.0
// graph_cache_fixture.hpp - a graph cache, and bodies that count their calls.
#pragma once

#include <weir/graph/graph_cache.hpp>
#include <weir/memory/fill.hpp>

#include "graph_fixture.hpp"

namespace weir::test {

class graph_cache_fixture : public graph_fixture {
 protected:
  // A body that fills and counts its calls.
  [[nodiscard]] auto fill_body(int value) {
    return [this, value](stream_ref in) {
      ++calls;
      fill(in, x, value);
    };
  }
  // A body that fills twice, so that it has one node more, and counts its calls.
  [[nodiscard]] auto two_fills_body(int value) {
    return [this, value](stream_ref in) {
      ++calls;
      fill(in, x, -1);
      fill(in, x, value);
    };
  }
  graph_cache<int> cache;
  int calls = 0;
};

}  // namespace weir::test
