// api/core/require_sync_allowed.hpp - asked before the host waits for a device.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/sync_guard.hpp>

namespace weir::detail {

// The calling thread's innermost guard; null, as nearly always, if it has none.
extern thread_local constinit sync_guard* current_sync_guard [[gnu::tls_model("initial-exec")]];

// Throws where a guard refuses waits; nothing has been done yet.
inline void require_sync_allowed(const char* call, call_site at) {
  if (current_sync_guard != nullptr) [[unlikely]] {
    current_sync_guard->before_wait(call, at);
  }
}

// The same for what has more to do before it waits: only throws.
inline void throw_if_sync_forbidden(const char* call, call_site at) {
  if (current_sync_guard != nullptr) [[unlikely]] {
    current_sync_guard->throw_if_forbidden(call, at);
  }
}

}  // namespace weir::detail
