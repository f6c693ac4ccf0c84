// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_failure.hpp - explains why captures can neither begin nor end.
#pragma once

#include "api/capture/capture_end.hpp"
#include "api/capture/capture_registry.hpp"

#include <weir/core/call_site.hpp>

#include <string>
#include <vector>

namespace weir::detail {

// Throws the error for a capture that cannot begin, because the driver returned `answer`.
[[noreturn, gnu::cold]] void fail_to_begin(CUresult answer, stream_ref stream, const char* call,
                                           call_site at);

// Throws if the caller may not end this capture from this stream and thread. The capture stays
// valid, unless the only thread that may end it has ended; then it is discarded. `snapshot` must
// describe a registered capture.
void require_endable(const capture_snapshot& snapshot, const end_request& request);

// Throws the error for an end in a stream that is not capturing. `ended` is the id of its last
// capture, or 0 if it is not known. Removes the record of a capture that has ended directly through
// the driver.
[[noreturn, gnu::cold]] void fail_ended(const end_request& request, unsigned long long ended);
// Throws the error for an end of a capture that another thread is ending or has just ended.
[[noreturn, gnu::cold]] void fail_ended_elsewhere(const end_request& request);

// Throws the error for an end of `capture` while the streams in `unjoined` are not joined to its
// origin.
[[noreturn, gnu::cold]] void fail_unjoined(const end_request& request,
                                           const active_capture& capture,
                                           const std::vector<CUstream>& unjoined);

// Throws if the capture records into a conditional body and has recorded a node that a body cannot
// contain.
void require_allowed_in_body(const active_capture& capture, const end_request& request);

// Returns why the end of the capture failed with `code`, or only names the capture if the code says
// no more. The caller has removed `record` from the registry.
[[nodiscard]] std::string explain_end(errc code, const capture_record& record,
                                      const std::vector<CUstream>& unjoined);

}  // namespace weir::detail
