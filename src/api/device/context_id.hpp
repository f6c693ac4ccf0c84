// SPDX-License-Identifier: Apache-2.0
// api/device/context_id.hpp - the unique id of the context that a stream belongs to.
#pragma once

#include "api/stream/stream_cache.hpp"

#include <weir/core/call_site.hpp>

namespace weir::detail {

// The id of a stream's context, which the driver never reuses, unlike the handle.
struct stream_context {
  unsigned long long context = 0;
  bool owned = false;  // true if weir owns the stream
};

// A cache of the context ids of streams that weir owns. Other streams are queried each time,
// because weir does not notice when other code destroys them.
extern thread_local constinit stream_cache<unsigned long long> stream_context_ids
    [[gnu::tls_model("initial-exec")]];

// Queries the context of a stream that is not in the cache. Adds a stream that weir owns to the
// cache.
[[nodiscard]] stream_context find_stream_context(abi::CUstream stream, call_site at);

// Returns the context id of a stream. Throws invalid_context for a default stream if no context is
// current.
//
// Driver: cuStreamGetCtx, cuCtxGetCurrent, cuCtxGetId; none of these if a stream that weir owns is
// cached.
[[nodiscard]] inline stream_context stream_context_of(abi::CUstream stream, call_site at) {
  if (const unsigned long long context = stream_context_ids.find(stream); context != 0) [[likely]] {
    return {context, true};
  }
  return find_stream_context(stream, at);
}

}  // namespace weir::detail
