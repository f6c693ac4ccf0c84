// SPDX-License-Identifier: Apache-2.0
// api/stream/thread_event.cpp - the events that threads keep for ordering streams.
#include "api/stream/thread_event.hpp"

#include "api/core/check.hpp"
#include "api/core/thread_singleton.hpp"
#include "api/device/primary_context.hpp"
#include "driver/event_pool.hpp"
#include "os/forked_child.hpp"

#include <algorithm>
#include <vector>

namespace weir::detail {

thread_local constinit stream_cache<CUevent> thread_events;

namespace {

// An event of this thread for one context. The context is identified by its id, which is never
// reused, unlike its handle.
struct owned_event {
  unsigned long long context_id;
  CUevent event;
};

// The events of one thread. They return to the pool when the thread ends.
class thread_event_cache {
 public:
  thread_event_cache() = default;
  thread_event_cache(const thread_event_cache&) = delete;
  thread_event_cache& operator=(const thread_event_cache&) = delete;
  ~thread_event_cache() {
    thread_events.clear();
    if (os::in_forked_child()) return;
    for (const owned_event& e : events_)
      event_pool::instance().release(e.context_id, {&e.event, 1});
  }

  CUevent of(CUcontext context, call_site at) {
    const unsigned long long context_id = context_id_of(context, at);
    const auto found = std::ranges::find(events_, context_id, &owned_event::context_id);
    if (found != events_.end()) return found->event;
    events_.reserve(events_.size() + 1);
    require_outside_host_function("cuEventCreate", subject{context}, at);
    CUevent event = nullptr;
    const driver_result acquired = event_pool::instance().acquire(context, context_id, event);
    if (acquired.code != errc::success)
      throw_driver_error(acquired.code, acquired.call, subject{context}, at);
    events_.push_back({context_id, event});
    return event;
  }

 private:
  std::vector<owned_event> events_;
};

// Returns true if a cache entry for the stream cannot become wrong unnoticed. The context of a
// default stream changes with the current context. weir notices the destruction of streams that it
// owns. If other code destroys a stream, a record with the cached event fails, and
// finish_thread_event_record() corrects the entry. That requires that the event's context still
// exists, which is certain only for a primary context.
bool is_cacheable(CUstream stream, CUcontext context, call_site at) {
  if (is_default(stream)) return false;
  return find_stream_properties(stream) || context_info_of(context, at).is_primary;
}

}  // namespace

CUevent find_thread_event(CUstream stream, call_site at) {
  thread_events.invalidate_stale();
  const CUcontext context = context_of(stream, at);
  if (context == nullptr)
    throw_error(errc::invalid_context, "cuEventCreate", stream_ref{stream}, at);
  const CUevent event = thread_singleton<thread_event_cache>::get().of(context, at);
  if (is_cacheable(stream, context, at)) thread_events.insert(stream, event);
  return event;
}

CUevent record_thread_event(CUstream stream, call_site at) {
  const CUevent event = thread_event(stream, at);
  return finish_thread_event_record(stream, event, driver().cuEventRecord(event, stream), at);
}

CUevent finish_thread_event_record(CUstream stream, CUevent event, CUresult answer, call_site at) {
  if (answer == CUDA_ERROR_INVALID_HANDLE) [[unlikely]] {
    // The cache entry may belong to an earlier stream with this handle, which other code has
    // destroyed. The stream that has the handle now then belongs to another context.
    thread_events.erase(stream);
    const CUevent found = find_thread_event(stream, at);
    if (found != event) {
      event = found;
      answer = driver().cuEventRecord(event, stream);
    }
  }
  check(answer, "cuEventRecord", stream_ref{stream}, at);
  return event;
}

CUevent record_thread_event(CUstream stream, first_failure& failure) noexcept {
  try {
    return record_thread_event(stream, call_site{});
  } catch (...) {
    failure.note_exception("cuEventRecord");
    return nullptr;
  }
}

}  // namespace weir::detail
