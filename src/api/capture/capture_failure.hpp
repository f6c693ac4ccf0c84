// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_failure.hpp - explains why captures can neither begin nor end.
#pragma once

#include "api/capture/capture_end.hpp"
#include "api/capture/capture_registry.hpp"

#include <weir/core/call_site.hpp>

#include <string>
#include <vector>

namespace weir::detail {

// Throws the error of a begin that the driver refused with `answer`.
[[noreturn, gnu::cold]] void fail_to_begin(CUresult answer, stream_ref stream, const char* call,
                                           call_site at);

// Throws unless the capture is known and the caller may end it here. The capture stays valid.
void require_endable(const capture_snapshot& snapshot, const end_request& request);

// Throws the error of an end in a stream that is not capturing any more. Removes the record of the
// capture with the id `ended`, if there is one.
[[noreturn, gnu::cold]] void fail_ended(const end_request& request, unsigned long long ended);

// Throws the error of an end before these streams rejoined the capture.
[[noreturn, gnu::cold]] void fail_unjoined(const end_request& request,
                                           const active_capture& capture,
                                           const std::vector<CUstream>& unjoined);

// Throws if the capture recorded a node that a conditional body cannot hold.
void require_allowed_in_body(const active_capture& capture, const end_request& request);

// Explains why the end of the capture failed. The record has left the registry.
[[nodiscard]] std::string explain_end(errc code, const capture_record& record,
                                      const std::vector<CUstream>& unjoined);

}  // namespace weir::detail
