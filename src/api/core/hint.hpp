// SPDX-License-Identifier: Apache-2.0
// api/core/hint.hpp - what to do about an error.
#pragma once

#include <weir/core/errc.hpp>

#include <string>

namespace weir::detail {

// Returns what to do about this error of this call. Empty if there is no hint beyond the text of
// the code.
[[nodiscard]] const char* hint_for(errc code, const char* call) noexcept;

// Returns "cuGraphAddNode needs a driver for CUDA 12.3 or later; ..." for a call that failed with
// CALL_REQUIRES_NEWER_DRIVER. A call may have several versions, such as cuMemAdvise_v2. The hint
// names the CUDA version of the first one that this driver lacks, if weir knows the call.
[[nodiscard]] std::string newer_driver_hint(const char* call);

}  // namespace weir::detail
