// SPDX-License-Identifier: Apache-2.0
// api/device/context_id.cpp - the unique id of the context that a stream belongs to.
#include "api/device/context_id.hpp"

namespace weir::detail {

thread_local constinit stream_cache<unsigned long long> stream_context_ids;

stream_context find_stream_context(CUstream stream, call_site at) {
  stream_context_ids.invalidate_stale();
  const auto properties = find_stream_properties(stream);
  const CUcontext context = properties ? properties->context : context_of(stream, at);
  if (context == nullptr)
    throw_error(errc::invalid_context, "cuStreamGetCtx", stream_ref{stream}, at);
  const stream_context stream_info{context_id_of(context, at), properties.has_value()};
  if (stream_info.owned) stream_context_ids.insert(stream, stream_info.context);
  return stream_info;
}

}  // namespace weir::detail
