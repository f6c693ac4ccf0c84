// SPDX-License-Identifier: Apache-2.0
// support/graph_owners.hpp - waits for the release of what destroyed graphs kept alive.
#pragma once

#include <weir/core/deferred.hpp>
#include <weir/device/device.hpp>
#include <weir/graph/graph.hpp>

#include <future>
#include <memory>

namespace weir::test {

// Returns once all owners held by already destroyed graphs, with their executables and launches,
// are destroyed. The driver destroys them in order, so a marker object queued behind them shows
// when they are gone.
inline void wait_for_graph_owners() {
  device{}.sync();  // a launch in flight keeps its owners, and the marker would overtake them
  struct sentinel {
    std::promise<void> destroyed;
    ~sentinel() { destroyed.set_value(); }
  };
  auto last = std::make_shared<sentinel>();
  const std::future<void> destroyed = last->destroyed.get_future();
  {
    graph ended;
    ended.keep(std::move(last));
  }
  destroyed.wait();
  drain_deferred();
}

}  // namespace weir::test
