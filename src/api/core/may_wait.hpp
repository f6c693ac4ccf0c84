// api/core/may_wait.hpp - asked before the host waits for a device.
#pragma once

#include <weir/core/allow_sync.hpp>
#include <weir/core/call_site.hpp>

namespace weir::detail {

// The calling thread's innermost guard; null, as nearly always, if it has none.
extern thread_local constinit allow_sync* innermost_guard [[gnu::tls_model("initial-exec")]];

// Throws where a guard refuses waits; nothing has been done yet.
inline void may_wait(const char* call, call_site at) {
  if (innermost_guard != nullptr) [[unlikely]] {
    innermost_guard->about_to_wait(call, at);
  }
}

// The same for what has more to do before it waits: only throws.
inline void refuse_wait(const char* call, call_site at) {
  if (innermost_guard != nullptr) [[unlikely]] {
    innermost_guard->refuse(call, at);
  }
}

}  // namespace weir::detail
