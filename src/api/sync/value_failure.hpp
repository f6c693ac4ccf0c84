// api/sync/value_failure.hpp - which wait for a word or write to one a driver has refused, and why:
// looked for once it has.
#pragma once

#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/detail/tracked_memory.hpp>
#include <weir/stream/stream.hpp>

#include <span>
#include <string>

namespace weir::detail {

using value_steps = std::span<const abi::CUstreamBatchMemOpParams>;

// Throws what names the word; of a batch the step that is at fault, if one can be told.
[[noreturn, gnu::cold]] void throw_value_error(abi::CUresult answer, const char* call,
                                               stream_ref stream,
                                               const abi::CUstreamBatchMemOpParams& step,
                                               const tracked_memory* owner, call_site at);
[[noreturn, gnu::cold]] void throw_value_batch_error(abi::CUresult answer, const char* call,
                                                     stream_ref stream, value_steps steps,
                                                     std::span<const tracked_memory* const> owners,
                                                     call_site at);

// The same, as text, of steps that a node cannot have on a device of this context; empty if none
// can be told.
[[nodiscard]] std::string invalid_step_reason(abi::CUresult answer, value_steps steps,
                                              abi::CUcontext context, call_site at);

}  // namespace weir::detail
