// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_invalidation.hpp - records which call invalidated which capture.
#pragma once

#include "api/core/check.hpp"

#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>

#include <string>

namespace weir::detail {

// The first call that invalidated a capture. `call` is null if no such call is known.
struct capture_invalidation {
  const char* call = nullptr;
  errc code = errc::success;
  call_site where;
  int system_thread_id = 0;
};
// Returns a text such as "broken by cuMemAlloc at main.cpp:14 (CUDA_ERROR_..., thread 4711)".
[[nodiscard]] std::string to_text(const capture_invalidation& invalidation);

// Called after `call` on `object` failed with `code`. Finds the captures that the call has
// invalidated and stores the call in their records. If the code says that an earlier call has
// invalidated them, sets `has_unknown_cause` in records that name no call.
void attribute_failure(errc code, const char* call, subject object, call_site at) noexcept;

// Returns the hint for a call on `object` that failed because an earlier call had invalidated the
// capture. It names the capture and that earlier call. Empty if weir has no record of the capture.
[[nodiscard]] std::string explain_invalidated(subject object);

}  // namespace weir::detail
