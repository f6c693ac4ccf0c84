// SPDX-License-Identifier: Apache-2.0
// api/core/sync_allowed.hpp - checks made before the host waits for a device.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/sync_guard.hpp>

namespace weir::detail {

// Points to the calling thread's innermost guard. Usually null.
extern thread_local constinit sync_guard* current_sync_guard [[gnu::tls_model("initial-exec")]];

// Throws if a guard forbids waits of the host; counts the wait if a guard counts them. Call it
// before anything else is done.
inline void require_sync_allowed(const char* call, call_site at) {
  if (current_sync_guard != nullptr) [[unlikely]] {
    current_sync_guard->before_wait(call, at);
  }
}

// Throws like require_sync_allowed(), but does not count. Used by functions that do other work
// before they wait.
inline void throw_if_sync_forbidden(const char* call, call_site at) {
  if (current_sync_guard != nullptr) [[unlikely]] {
    current_sync_guard->throw_if_forbidden(call, at);
  }
}

}  // namespace weir::detail
