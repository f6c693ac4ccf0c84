// SPDX-License-Identifier: Apache-2.0
// embedded/engine/schedule.hpp - the order in which the engine runs operations.
#pragma once

#include <cstdint>

namespace weir::embedded::engine {

// WEIR_EMBEDDED_SCHEDULE. Every schedule respects all ordering rules between operations. A program
// that misses no wait gives equal results under each.
enum class schedule_kind : std::uint8_t {
  parallel,  // as soon as possible, on as many threads as there are processors
  serial,    // one operation at a time, streams in turn; waiting threads do not run operations
  // A single operation at a time, of a stream that the seed chooses: some at each submission, the
  // rest in waits.
  random,
  late,  // nothing before a thread waits for it, and then little more than that wait needs
};

struct schedule {
  schedule_kind kind = schedule_kind::parallel;
  std::uint64_t seed = 0;
};

// The kind of operation that a step has run. Long work runs on another thread: host functions, and
// kernels and copies that may take long.
enum class step_result : std::uint8_t { nothing, short_work, long_work };

// How a thread that waits for a point reacts to a failure of the device. The point is still
// reached, but only after the host functions and kernels that are running have ended.
enum class on_failure : std::uint8_t { keep_waiting, give_up };

}  // namespace weir::embedded::engine
