// SPDX-License-Identifier: Apache-2.0
// api/stream/thread_event.hpp - the event that each thread keeps for ordering streams.
#pragma once

#include "api/core/first_failure.hpp"
#include "api/stream/stream_cache.hpp"
#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/detail/direct_call.hpp>

namespace weir::detail {

// A wait refers to the record that the event holds when the wait is queued. Later records do not
// change it. Therefore a thread needs only one event per context for any number of consecutive
// waits.
//
// The event needs no lock, because no other thread uses it. It is untimed, and belongs to the
// context of the stream that it is recorded in. When a thread ends, its events return to the pool
// (driver/event_pool.hpp).

// A cache from streams to the event of their context.
extern thread_local constinit stream_cache<abi::CUevent> thread_events
    [[gnu::tls_model("initial-exec")]];

// Returns this thread's event for the context of a stream that is not in the cache. Creates the
// event if there is none. Caches it if the context of the stream cannot change unnoticed.
[[nodiscard]] abi::CUevent find_thread_event(abi::CUstream stream, call_site at);

// Returns this thread's event for the stream's context.
[[nodiscard]] inline abi::CUevent thread_event(abi::CUstream stream, call_site at) {
  if (const abi::CUevent cached = thread_events.find(stream); cached != nullptr) [[likely]] {
    return cached;
  }
  return find_thread_event(stream, at);
}

// Records this thread's event in the stream and returns it. Driver: cuEventRecord.
[[nodiscard]] abi::CUevent record_thread_event(abi::CUstream stream, call_site at);

// Called after a record of `event` in `stream` returned `answer`. Returns `event` on success. If
// the record failed because the cache entry of the stream was out of date, records the correct
// event and returns it. Throws any other failure.
[[nodiscard]] abi::CUevent finish_thread_event_record(abi::CUstream stream, abi::CUevent event,
                                                      abi::CUresult answer, call_site at);

// A direct wait for a stream (direct_driver.hpp) makes two driver calls but returns one number.
// This function encodes a failure of the first call, the record of the event, as a negative number,
// which no driver returns.
[[nodiscard]] constexpr direct_status encode_record_failure(abi::CUresult answer) noexcept {
  return static_cast<direct_status>(-1 - static_cast<int>(answer));
}
// Returns the `answer` of encode_record_failure().
[[nodiscard]] constexpr abi::CUresult decode_record_failure(direct_status encoded) noexcept {
  return static_cast<abi::CUresult>(-1 - static_cast<int>(encoded));
}

// Like record_thread_event() above, for callers that cannot throw. Notes a failure in `failure` and
// returns null.
[[nodiscard]] abi::CUevent record_thread_event(abi::CUstream stream,
                                               first_failure& failure) noexcept;

}  // namespace weir::detail
