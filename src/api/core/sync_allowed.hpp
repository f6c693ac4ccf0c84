// SPDX-License-Identifier: Apache-2.0
// api/core/sync_allowed.hpp - checks made before the host waits for a device.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/sync_guard.hpp>

namespace weir::detail {

// The calling thread's innermost sync_guard; null if there is none.
extern thread_local constinit sync_guard* current_sync_guard [[gnu::tls_model("initial-exec")]];

// Called before the host waits for a device. Throws if a sync_guard forbids waits; counts the wait
// if a sync_guard counts them. Call it before the operation has any effect.
inline void require_sync_allowed(const char* call, call_site at) {
  if (current_sync_guard != nullptr) [[unlikely]] {
    current_sync_guard->before_wait(call, at);
  }
}

// Like require_sync_allowed(), but does not count the wait. Used by functions that have other
// effects before they wait; the wait itself is counted later.
inline void throw_if_sync_forbidden(const char* call, call_site at) {
  if (current_sync_guard != nullptr) [[unlikely]] {
    current_sync_guard->throw_if_forbidden(call, at);
  }
}

}  // namespace weir::detail
