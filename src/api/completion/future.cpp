// api/completion/future.cpp - values that are kept until the work of a stream is done.
#include <weir/completion/future.hpp>

#include "api/capture/captures.hpp"
#include "api/completion/completion_access.hpp"
#include "api/core/check.hpp"
#include "reactor/reactor.hpp"

namespace weir::detail {

void throw_used_future(const char* call, call_site at) {
  throw_error(errc::closed, call, "",
              "its value was given away, or it was moved from: valid() tells", at);
}

// The thread that is to let go of values is begun while that may still fail.
void prepare_enqueue(stream_ref stream, call_site at) {
  constexpr const char* call = "weir::stream::enqueue_async";
  prepare_completion(stream, call, at).owner().start_thread();
}

// What f has returned may be in use by now, and is about to be destroyed.
completion completion_of_enqueued(stream_ref stream, call_site at) {
  try {
    return stream.completion(at);
  } catch (...) {
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult answer = driver().cuStreamIsCapturing(stream.get(), &capture);
    // In a capture, which f has begun, nothing runs, and to wait would break it.
    if (answer == CUDA_SUCCESS && capture == CU_STREAM_CAPTURE_STATUS_NONE) {
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
  try {
    if (queue != nullptr && query_outcome(*queue, ticket) == errc::not_ready &&
        add_waiter(*queue, ticket, state))
      return;
  } catch (const std::exception&) {
    // Not with a thread that is there already.
  }
  state.destroy(state);
}

}  // namespace weir::detail
