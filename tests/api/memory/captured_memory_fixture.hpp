// captured_memory_fixture.hpp - graphs that allocate, and nothing left of them in the end.
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

// Whatever becomes of a buffer, nothing is reported, nothing is left for later, and no graph's
// memory stays behind.
class captured_memory_fixture : public ::testing::Test {
 protected:
  captured_memory_fixture() { drain_deferred(); }
  ~captured_memory_fixture() override {
    drain_deferred();
    s.sync();
    EXPECT_EQ(deferred_count(), 0u);
    EXPECT_EQ(unraised.count(), 0u);
    trim_graph_memory(gpu);  // an H200 counts what is free as used until then
    EXPECT_EQ(graph_memory_of(gpu).used, used_before);
  }

  using optional_buffer = std::optional<buffer<int>>;

  // A graph whose launch leaves memory behind, full of that value.
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

  // So much that an address which is free is the next one's.
  static constexpr std::size_t size = 1 << 18;

  device gpu;
  stream s{gpu};
  pinned_buffer<int> host{size};
  unsigned long long used_before = graph_memory_of(gpu).used;
  unhandled_errors unraised;
};

}  // namespace weir::test
