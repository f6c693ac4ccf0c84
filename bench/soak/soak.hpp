// soak/soak.hpp - everything at once, for long: random work on many streams, whose effects are
// counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace soak {

struct options {
  std::uint64_t operations = 10'000'000;
  int streams = 32;
  std::uint64_t seed = 1;
};

struct result {
  std::uint64_t checks = 0;  // of what a stream had done when it said that it was done
  std::uint64_t lost = 0;    // checks that found something missing or done twice
};

// Queues that many operations, each at random on one of the streams: sets and copies of its word,
// records of new events (the old ones go, whatever they wait for), waits for other streams' events,
// host functions, allocations, frees, syncs, and now and then a new stream in the place of the old
// one, whose work is still pending. After each sync, and at the end on all streams, the stream's
// host functions have to have run once each, and its word has to have the value that was last
// copied. `on_idle` is called ten times, each time when all streams are idle. One thread queues.
// Throws weir::error.
[[nodiscard]] result run(const options& options, const std::function<void(int tenth)>& on_idle);

}  // namespace soak
