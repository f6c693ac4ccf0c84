// entry/open_stream.hpp - making a stream in a context that is ready for use.
#pragma once

#include <algorithm>

#include "driver/abi.hpp"
#include "embedded/model/core/process.hpp"

namespace weir::embedded::entry {

// With CU_STREAM_* that were checked, and a priority that is brought into range. Throws
// std::bad_alloc.
[[nodiscard]] inline abi::CUstream open_stream(model::process& p, model::context& in,
                                               unsigned flags, int priority) {
  if (in.green()) flags = abi::CU_STREAM_NON_BLOCKING;  // there is no other kind there
  const auto role = flags == abi::CU_STREAM_NON_BLOCKING ? model::stream_role::non_blocking
                                                         : model::stream_role::blocking;
  model::stream* const made = p.streams.acquire();
  try {
    made->open(in, role, flags,
               std::clamp(priority, model::highest_priority, model::lowest_priority));
  } catch (...) {
    p.streams.recycle(made);
    throw;
  }
  return static_cast<abi::CUstream>(p.streams.publish(made));
}

}  // namespace weir::embedded::entry
