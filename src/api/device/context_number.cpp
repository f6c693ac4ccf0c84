// api/device/context_number.cpp - which context a stream is of, as a number that is never used again.
#include "api/device/context_number.hpp"

namespace weir::detail {

thread_local constinit stream_table<unsigned long long> known_contexts;

stream_place find_stream_place(CUstream stream, call_site at) {
  known_contexts.renew();
  const auto facts = facts_of(stream);
  const CUcontext context = facts ? facts->context : context_of(stream, at);
  if (context == nullptr) fail(errc::invalid_context, "cuStreamGetCtx", stream_ref{stream}, at);
  const stream_place place{number_of(context, at), facts.has_value()};
  if (place.owned) known_contexts.remember(stream, place.context);
  return place;
}

}  // namespace weir::detail
