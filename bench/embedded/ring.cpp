// SPDX-License-Identifier: Apache-2.0
// embedded/ring.cpp - the embedded driver's throughput when every operation waits for another
// stream.
#include "harness/figure.hpp"
#include "harness/memory.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"

#include <array>

namespace bench {
namespace {

// An operation is a memset, the record after it, and the wait that the next one begins with.
constexpr int operations = 1'000'000;
constexpr int burst =
    10'000;  // the host waits after each burst: no program is further ahead of its device
constexpr int ring_size = 64;

// Queues the operations of a burst on `count` streams in turn. With one stream, it waits for
// itself.
template <std::size_t count>
class ring {
 public:
  void run_burst() {
    const auto& table = raw();
    for (unsigned i = 0; i < burst; ++i) {
      const std::size_t at = i % count;
      ok(table.cuMemsetD32Async(word_, i, 1, streams_[at]));
      ok(table.cuEventRecord(events_[at], streams_[at]));
      ok(table.cuStreamWaitEvent(streams_[(at + 1) % count], events_[at], 0));
    }
    for (const raw_stream& s : streams_) s.sync();
  }

 private:
  raw_memory word_{4};
  std::array<raw_stream, count> streams_;
  std::array<raw_event, count> events_;
};

struct result {
  double slowdown;
  double growth_mib;
};

// Both figures use one run of a million operations.
const result& measured() {
  static const result once = [] {
    ring<1> one;
    ring<ring_size> many;
    constexpr int bursts = operations / burst;
    const double alone = fastest(bursts / 4, burst, [&] { one.run_burst(); });
    for (int i = 0; i < bursts / 10; ++i) many.run_burst();
    const double before = resident_mib();
    const double in_ring = fastest(bursts - bursts / 10, burst, [&] { many.run_burst(); });
    return result{in_ring / alone, resident_mib() - before};
  }();
  return once;
}

const registration slowdown{{.name = "embedded/ring",
                             .unit = "x one stream",
                             .budget = 4,
                             .runs_on = driver_filter::embedded,
                             .measure = [] { return measured().slowdown; }}};
const registration growth{{.name = "embedded/ring/memory",
                           .unit = "MiB of growth",
                           .budget = 4,
                           .runs_on = driver_filter::embedded,
                           .measure = [] { return measured().growth_mib; }}};

}  // namespace
}  // namespace bench
