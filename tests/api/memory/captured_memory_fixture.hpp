// SPDX-License-Identifier: Apache-2.0
// captured_memory_fixture.hpp - graphs that allocate memory, and a check that none of it is left.
#pragma once

#include <weir/capture/capture.hpp>
#include <weir/core/deferred.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/nodes/memory_nodes.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <cstddef>
#include <optional>

#include <gtest/gtest.h>

#include "support/unhandled_errors.hpp"

namespace weir::test {

// Expects that no error was reported, no task is deferred, and no graph memory is left.
class captured_memory_fixture : public ::testing::Test {
 protected:
  captured_memory_fixture() { drain_deferred(); }
  ~captured_memory_fixture() override {
    drain_deferred();
    s.sync();
    EXPECT_EQ(deferred_count(), 0u);
    EXPECT_EQ(unhandled.count(), 0u);
    trim_graph_memory(gpu);  // an H200 counts free graph memory as used until then
    EXPECT_EQ(graph_memory_of(gpu).used, used_before);
  }

  using optional_buffer = std::optional<buffer<int>>;

  // A graph whose launch allocates memory that it does not free, filled with the value.
  [[nodiscard]] graph capture_memory(optional_buffer& made, int value) {
    return capture(s, [&] {
      made.emplace(s, size);
      fill(s, *made, value);
    });
  }
  [[nodiscard]] int first_of(const buffer<int>& x) {
    copy(s, x, host);
    s.sync();
    return host[0];
  }

  // Large enough that a freed address is the next one to be used.
  static constexpr std::size_t size = 1 << 18;

  device gpu;
  stream s{gpu};
  pinned_buffer<int> host{size};
  unsigned long long used_before = graph_memory_of(gpu).used;
  unhandled_errors unhandled;
};

}  // namespace weir::test
