// support/owners_of_graphs.hpp - waits until what ended graphs have kept is given up.
#pragma once

#include <weir/core/deferred.hpp>
#include <weir/device/device.hpp>
#include <weir/graph/graph.hpp>

#include <future>
#include <memory>

namespace weir::test {

// Returns when the owners that graphs kept which have ended before, with all their executables and launches, are gone, and
// what they owned, too. The driver ends them one after the other: behind them comes one that tells.
inline void wait_for_owners_of_graphs() {
  device{}.sync();  // while a launch is under way its owners stay, and the teller would overtake them
  struct teller {
    std::promise<void> gone;
    ~teller() { gone.set_value(); }
  };
  auto last = std::make_shared<teller>();
  const std::future<void> gone = last->gone.get_future();
  {
    graph ended;
    ended.keep(std::move(last));
  }
  gone.wait();
  drain_deferred();
}

}  // namespace weir::test
