// SPDX-License-Identifier: Apache-2.0
// embedded/engine/schedule.hpp - the order in which the engine runs operations.
#pragma once

#include <cstdint>

namespace weir::embedded::engine {

// The kind of schedule that WEIR_EMBEDDED_SCHEDULE selects. Every schedule respects all ordering
// rules between operations. A program that makes its streams wait wherever they have to gives equal
// results under every schedule.
enum class schedule_kind : std::uint8_t {
  parallel,  // as soon as possible, on one thread for each processor, up to 16
  serial,    // one operation at a time, streams in turn; waiting threads do not run operations
  // The others are deterministic: one operation at a time, chosen by a seed (step_strategy.hpp).
  // Runs an operation of a stream that the seed chooses. Under half of the seeds up to two
  // operations run at each submission, the others while a thread waits or the program is inactive.
  random,
  // None before a thread waits or the program is inactive. The waiting thread then runs the
  // operations that it needs. Under three of four seeds, one in 8, 16 or 64 operations on average
  // is of a stream that the seed chooses.
  late,
  // None before a thread waits or the program is inactive. Then the operation that was enqueued
  // last of those that can run, whichever the thread waits for. The seed chooses other streams as
  // under `late`.
  early,
  // Runs an operation of the stream with the highest priority. The streams and the program have
  // priorities, which the seed chooses, and changes at points that it draws.
  priority,
  // Is random, late, early or priority, as the seed says.
  explore,
};

struct schedule {
  schedule_kind kind = schedule_kind::parallel;
  std::uint64_t seed = 0;  // of the deterministic schedules
};

// The kind of operation that a step of a deterministic schedule has run. Long work is run by
// another thread: host functions, and kernels and copies that may take long.
enum class step_result : std::uint8_t { nothing, short_work, long_work };

// How a thread that waits for a point, a position in a stream's work, reacts to a failure of the
// device. keep_waiting: waits until the point is reached. After a failure this happens once the
// host functions and kernels that are running have ended. give_up: returns earlier, as soon as no
// operation can run.
enum class on_failure : std::uint8_t { keep_waiting, give_up };

}  // namespace weir::embedded::engine
