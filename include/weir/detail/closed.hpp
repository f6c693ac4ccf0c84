// SPDX-License-Identifier: Apache-2.0
// weir/detail/closed.hpp - the handle of an object that is closed, released or moved from.
#pragma once

namespace weir::detail {

/// Returns the handle of closed objects. It is not null, because a null stream is the legacy
/// default stream, which would receive the work of a closed stream. No driver returns this address
/// as a handle, and weir rejects it before it calls the driver.
template <class Handle>
[[nodiscard]] inline Handle* closed_handle() noexcept {
  return reinterpret_cast<Handle*>(~static_cast<__UINTPTR_TYPE__>(0));
}

}  // namespace weir::detail
