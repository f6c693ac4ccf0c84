// SPDX-License-Identifier: Apache-2.0
// api/sync/value_failure.hpp - determines which wait or write of a word the driver has refused, and
// why.
#pragma once

#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/detail/tracked_memory.hpp>
#include <weir/stream/stream.hpp>

#include <span>
#include <string>

namespace weir::detail {

using value_steps = std::span<const abi::CUstreamBatchMemOpParams>;

// Throws an error that names the word. The error of a batch names the step at fault, if it can be
// determined.
[[noreturn, gnu::cold]] void throw_value_error(abi::CUresult answer, const char* call,
                                               stream_ref stream,
                                               const abi::CUstreamBatchMemOpParams& step,
                                               const tracked_memory* owner, call_site at);
[[noreturn, gnu::cold]] void throw_value_batch_error(abi::CUresult answer, const char* call,
                                                     stream_ref stream, value_steps steps,
                                                     std::span<const tracked_memory* const> owners,
                                                     call_site at);

// Returns the reason why a node cannot have these steps on a device of this context. Empty if none
// can be determined.
[[nodiscard]] std::string invalid_step_reason(abi::CUresult answer, value_steps steps,
                                              abi::CUcontext context, call_site at);

}  // namespace weir::detail
