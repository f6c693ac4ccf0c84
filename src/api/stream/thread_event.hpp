// api/stream/thread_event.hpp - the event that a thread keeps for orders between streams.
#pragma once

#include "api/core/first_failure.hpp"
#include "api/stream/stream_cache.hpp"
#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>

namespace weir::detail {

// A wait binds to the record that the event holds when the wait is queued, so one event serves a
// thread for any number of waits, one after the other; as no other thread has it, no lock is
// needed. It is untimed and of the context of the stream that it is recorded in. When a thread ends
// its events go to a pool for the next thread.

// Streams with the event of their context.
extern thread_local constinit stream_cache<abi::CUevent> thread_events
    [[gnu::tls_model("initial-exec")]];

// Finds or makes the event, and remembers it where it will stay right.
[[nodiscard]] abi::CUevent find_thread_event(abi::CUstream stream, call_site at);

// The event of this thread for that stream.
[[nodiscard]] inline abi::CUevent thread_event(abi::CUstream stream, call_site at) {
  if (const abi::CUevent known = thread_events.find(stream); known != nullptr) [[likely]] {
    return known;
  }
  return find_thread_event(stream, at);
}

// Records this thread's event in the stream and gives it. cuEventRecord.
[[nodiscard]] abi::CUevent record_thread_event(abi::CUstream stream, call_site at);

// What follows that record, which answered so: the event, if need be another one that was recorded
// instead.
[[nodiscard]] abi::CUevent finish_thread_event_record(abi::CUstream stream, abi::CUevent event,
                                                      abi::CUresult answer, call_site at);

// How a direct wait for a stream tells that its record failed: as numbers that no driver answers
// with.
[[nodiscard]] constexpr errc encode_record_failure(abi::CUresult answer) noexcept {
  return static_cast<errc>(-1 - static_cast<int>(answer));
}
[[nodiscard]] constexpr abi::CUresult decode_record_failure(errc encoded) noexcept {
  return static_cast<abi::CUresult>(-1 - static_cast<int>(encoded));
}

// The same for what cannot throw; null if it failed, which is noted.
[[nodiscard]] abi::CUevent record_thread_event(abi::CUstream stream,
                                               first_failure& failure) noexcept;

}  // namespace weir::detail
