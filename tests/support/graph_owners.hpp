// support/graph_owners.hpp - waits until what ended graphs have kept is given up.
#pragma once

#include <weir/core/deferred.hpp>
#include <weir/device/device.hpp>
#include <weir/graph/graph.hpp>

#include <future>
#include <memory>

namespace weir::test {

// Returns when the owners that graphs kept which have ended before, with all their executables and
// launches, are gone, and what they owned, too. The driver ends them one after the other: behind
// them comes one that tells.
inline void wait_for_graph_owners() {
  device{}
      .sync();  // while a launch is under way its owners stay, and the teller would overtake them
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
