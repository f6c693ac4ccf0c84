// api/device/context_id.hpp - which context a stream is of, as a number that is never used again.
#pragma once

#include "api/stream/stream_cache.hpp"

#include <weir/core/call_site.hpp>

namespace weir::detail {

struct stream_context {
  unsigned long long context = 0;
  bool owned = false;  // by weir
};

// The contexts of streams of weir's. Others are asked for each time: nobody notices their end.
extern thread_local constinit stream_cache<unsigned long long> stream_context_ids
    [[gnu::tls_model("initial-exec")]];

[[nodiscard]] stream_context find_stream_context(abi::CUstream stream, call_site at);

// Throws where the stream is a default one and no context is current (invalid_context).
// cuStreamGetCtx, cuCtxGetCurrent, cuCtxGetId; for streams of weir's mostly none of them.
[[nodiscard]] inline stream_context stream_context_of(abi::CUstream stream, call_site at) {
  if (const unsigned long long context = stream_context_ids.find(stream); context != 0) [[likely]] {
    return {context, true};
  }
  return find_stream_context(stream, at);
}

}  // namespace weir::detail
