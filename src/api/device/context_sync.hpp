// SPDX-License-Identifier: Apache-2.0
// api/device/context_sync.hpp - waits for all work of a context without a call that affects
// captures.
#pragma once

#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>

namespace weir::detail {

// The name of the wait in errors and reports.
inline constexpr const char* context_sync_call = "weir::context_ref::sync";

// Blocks the calling thread until the work of the context has finished that was queued before.
//
// cuCtxSynchronize would invalidate each capture in the context that begins before the driver has
// checked them, and GPUs' drivers crash over it. Therefore no such call is made. While no capture
// is open in the context, one event is recorded behind the work of all its streams. Otherwise an
// event is recorded in each stream that weir knows and that is not capturing, and in the legacy
// default stream. For a capturing stream, the event is awaited that was recorded before its
// capture.
//
// Throws if the calling thread began an open capture in the context, or if a blocking stream of the
// context takes part in one. The captures stay valid.
void sync_context(abi::CUcontext context, call_site at);

}  // namespace weir::detail
