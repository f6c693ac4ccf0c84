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
  // One operation at a time, of a stream that the seed chooses. Up to two operations run at each
  // submission, the others while a thread waits or the program is inactive.
  random,
  // One operation at a time, and none before a thread waits or the program is inactive. The waiting
  // thread then runs the operations that it needs. About one in eight operations is of a stream
  // that the seed chooses.
  late,
};

struct schedule {
  schedule_kind kind = schedule_kind::parallel;
  std::uint64_t seed = 0;  // used by schedule_kind::random and late only
};

// The kind of operation that a step of a deterministic schedule (random, late) has run. Long work
// is run by another thread: host functions, and kernels and copies that may take long.
enum class step_result : std::uint8_t { nothing, short_work, long_work };

// How a thread that waits for a point, a position in a stream's work, reacts to a failure of the
// device. keep_waiting: waits until the point is reached. After a failure this happens once the
// host functions and kernels that are running have ended. give_up: returns earlier, as soon as no
// operation can run.
enum class on_failure : std::uint8_t { keep_waiting, give_up };

}  // namespace weir::embedded::engine
