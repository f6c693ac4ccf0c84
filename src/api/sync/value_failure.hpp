// SPDX-License-Identifier: Apache-2.0
// api/sync/value_failure.hpp - determines which wait or write of a word in memory the driver has
// refused, and why.
#pragma once

#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/detail/tracked_memory.hpp>
#include <weir/stream/stream.hpp>

#include <span>
#include <string>

namespace weir::detail {

// The steps of a batch: its waits, writes, barriers and flushes.
using value_steps = std::span<const abi::CUstreamBatchMemOpParams>;

// Throws the error of a single wait or write. Names the word, and the reason if it can be
// determined. `owner` is the weir object that owns the memory, or null.
[[noreturn, gnu::cold]] void throw_value_error(abi::CUresult answer, const char* call,
                                               stream_ref stream,
                                               const abi::CUstreamBatchMemOpParams& step,
                                               const tracked_memory* owner, call_site at);
// Throws the error of a batch. Names the step at fault, its word and the reason, if they can be
// determined. `owners` has one entry per step, which may be null.
[[noreturn, gnu::cold]] void throw_value_batch_error(abi::CUresult answer, const char* call,
                                                     stream_ref stream, value_steps steps,
                                                     std::span<const tracked_memory* const> owners,
                                                     call_site at);

// Returns why the driver refused a value batch node with these steps in `context` with `answer`.
// Empty if no reason can be determined.
[[nodiscard]] std::string invalid_step_reason(abi::CUresult answer, value_steps steps,
                                              abi::CUcontext context, call_site at);

}  // namespace weir::detail
