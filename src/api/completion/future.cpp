// SPDX-License-Identifier: Apache-2.0
// api/completion/future.cpp - values that are kept until the work of a stream is complete.
#include <weir/completion/future.hpp>

#include "api/capture/relaxed_capture_guard.hpp"
#include "api/completion/completion_access.hpp"
#include "api/core/check.hpp"
#include "api/core/first_failure.hpp"
#include "reactor/reactor.hpp"

namespace weir::detail {

void throw_used_future(const char* call, call_site at) {
  throw_error(errc::closed, call, "",
              "the future's value was taken, or the future was moved from; check valid() first",
              at);
}

// Called by enqueue(f) before it calls f. Creates the stream's queue and starts its reactor's
// thread, which normally destroys the value that f returns. Either can fail, and here a failure
// leaves no work behind.
void prepare_enqueue(stream_ref stream, call_site at) {
  constexpr const char* call = "weir::stream::enqueue";
  prepare_completion(stream, call, at).owner().start_thread();
}

// Returns the completion of enqueued work, and starts the thread that will complete it. That thread
// may be another one than that of prepare_enqueue(), because f may have changed the current
// context, which determines the queue of a default stream.
//
// If that throws, first waits for the stream, because the work may use the value that f returned,
// and the caller then destroys the value.
completion completion_of_enqueued(stream_ref stream, call_site at) {
  try {
    const completion end = stream.completion(at);
    if (completion_queue* const queue = completion_access::queue(end))
      queue->owner().start_thread();
    return end;
  } catch (...) {
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult answer = driver().cuStreamIsCapturing(stream.get(), &capture);
    // If f has begun a capture, no work runs, and a wait would invalidate the capture.
    if (answer == CUDA_SUCCESS && capture == CU_STREAM_CAPTURE_STATUS_NONE) {
      first_failure ignored;
      const relaxed_capture_mode guard{ignored};
      static_cast<void>(driver().cuStreamSynchronize(stream.get()));
    }
    throw;
  }
}

void destroy_when_done(future_state& state) noexcept {
  completion_queue* const queue = completion_access::queue(state.end);
  const unsigned long long ticket = completion_access::ticket(state.end);
  state.on_complete = [](completion_waiter& self, errc) noexcept {
    auto& finished = static_cast<future_state&>(self);
    finished.destroy(finished);
  };
  state.policy = resume_policy::user_code_thread;
  // add_waiter() does not throw here, because completion_of_enqueued() has started the thread.
  if (queue != nullptr && query_outcome(*queue, ticket) == errc::not_ready &&
      add_waiter(*queue, ticket, state))
    return;
  state.destroy(state);
}

}  // namespace weir::detail
