// api/context_number.cpp - which context a stream is of, as a number that is never used again.
#include "api/context_number.hpp"

namespace weir::detail {

thread_local constinit known_places known_to_thread = {};

static_assert(known_places::size == 16, "known_place() takes the upper four bits");

stream_place find_stream_place(CUstream stream, call_site at) {
  const std::uint32_t destroyed = streams_destroyed.load(std::memory_order_acquire);
  if (known_to_thread.seen_destroyed != destroyed) {
    known_to_thread = {};
    known_to_thread.seen_destroyed = destroyed;
  }
  const auto facts = facts_of(stream);
  const CUcontext context = facts ? facts->context : context_of(stream, at);
  if (context == nullptr) fail(errc::invalid_context, "cuStreamGetCtx", stream_ref{stream}, at);
  const stream_place place{number_of(context, at), facts.has_value()};
  if (place.owned) known_place(stream) = {stream, place.context};
  return place;
}

}  // namespace weir::detail
