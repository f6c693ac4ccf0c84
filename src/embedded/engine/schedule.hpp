// engine/schedule.hpp - which of the legal orders the engine chooses.
#pragma once

#include <cstdint>

namespace weir::embedded::engine {

// WEIR_EMBEDDED_SCHEDULE. All of them keep every rule of order between operations; a program
// without a missing wait gives the same results under each.
enum class schedule_kind : std::uint8_t {
  parallel,  // as soon as possible, on as many threads as there are processors
  serial,    // one operation at a time, streams in turn; waiting threads do not help
  random,    // one at a time, of a stream that the seed chooses; some at each submission, the rest
             // when somebody waits
  late,      // nothing before somebody waits for it, and then little more than what he waits for
};

struct schedule {
  schedule_kind kind = schedule_kind::parallel;
  std::uint64_t seed = 0;
};

// What a step has run. Long work is what runs on a thread of its own: host functions, and kernels
// and copies that may take long.
enum class step_result : std::uint8_t { nothing, short_work, long_work };

// What a thread that waits for a point does when the device fails: the point is reached all the
// same, but not before the host functions and kernels that run now have ended.
enum class on_failure : std::uint8_t { keep_waiting, give_up };

}  // namespace weir::embedded::engine
