// SPDX-License-Identifier: Apache-2.0
// api/core/hint.hpp - what to do about an error.
#pragma once

#include <weir/core/errc.hpp>

#include <string>

namespace weir::detail {

// Returns a hint in words. Empty if there is nothing to add to the text of the code.
[[nodiscard]] const char* hint_for(errc code, const char* call) noexcept;

// Returns "cuGraphAddNode is of CUDA 12.3 and later; ..." for a call that failed with
// CALL_REQUIRES_NEWER_DRIVER. If the call has several versions, names the first one that this
// driver lacks.
[[nodiscard]] std::string newer_driver_hint(const char* call);

}  // namespace weir::detail
