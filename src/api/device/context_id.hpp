// SPDX-License-Identifier: Apache-2.0
// api/device/context_id.hpp - the unique id of the context that a stream belongs to.
#pragma once

#include "api/stream/stream_cache.hpp"

#include <weir/core/call_site.hpp>

namespace weir::detail {

struct stream_context {
  unsigned long long context = 0;
  bool owned = false;  // by weir
};

// Cached contexts of streams that weir owns. Other streams are queried each time, since weir does
// not notice when they are destroyed.
extern thread_local constinit stream_cache<unsigned long long> stream_context_ids
    [[gnu::tls_model("initial-exec")]];

[[nodiscard]] stream_context find_stream_context(abi::CUstream stream, call_site at);

// Throws invalid_context for a default stream if no context is current. Driver: cuStreamGetCtx,
// cuCtxGetCurrent, cuCtxGetId; usually none of them for streams that weir owns.
[[nodiscard]] inline stream_context stream_context_of(abi::CUstream stream, call_site at) {
  if (const unsigned long long context = stream_context_ids.find(stream); context != 0) [[likely]] {
    return {context, true};
  }
  return find_stream_context(stream, at);
}

}  // namespace weir::detail
