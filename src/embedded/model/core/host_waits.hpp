// SPDX-License-Identifier: Apache-2.0
// model/core/host_waits.hpp - whether calls wait for work where CUDA leaves it open.
#pragma once

#include <cstdint>

namespace weir::embedded::model {

// The documentation of CUDA says of some calls that they may wait, for example of cuMemFree and of
// asynchronous copies of pageable memory. WEIR_EMBEDDED_WAITS selects what these calls do, before
// the first of them. All other calls wait, or do not, whatever the setting.
enum class host_waits : std::uint8_t {
  as_gpu,  // as on an H100
  least    // no call waits that need not
};
inline constinit host_waits configured_host_waits = host_waits::as_gpu;

// Returns true if a call has to wait where CUDA only allows it.
[[nodiscard]] inline bool makes_allowed_waits() noexcept {
  return configured_host_waits == host_waits::as_gpu;
}

}  // namespace weir::embedded::model
