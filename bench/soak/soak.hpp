// SPDX-License-Identifier: Apache-2.0
// soak/soak.hpp - a long test of everything at once: random work on many streams, whose effects are
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
  std::uint64_t checks = 0;  // of a stream's effects after it was synchronized
  std::uint64_t lost = 0;    // checks that found missing or repeated work
};

// Queues `operations` random operations, each on a random stream: memsets and copies of its word,
// records of new events (old events are destroyed, whatever waits for them), waits for other
// streams' events, host functions, allocations, frees, syncs, and occasionally a new stream in
// place of the old one, whose work is still pending.
// After each sync, and at the end on all streams, each of the stream's host functions must have run
// once, and its word must have the value that was last copied.
// Calls `on_idle` ten times, each time when all streams are idle. One thread queues. Throws
// weir::error.
[[nodiscard]] result run(const options& options, const std::function<void(int tenth)>& on_idle);

}  // namespace soak
