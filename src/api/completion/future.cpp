// api/completion/future.cpp - values that are kept until the work of a stream is done.
#include <weir/completion/future.hpp>

#include "api/capture/captures.hpp"
#include "api/core/check.hpp"
#include "api/completion/completion_access.hpp"
#include "reactor/reactor.hpp"

namespace weir::detail {

void fail_used_future(const char* call, call_site at) {
  fail(errc::closed, call, "", "its value was given away, or it was moved from: valid() tells", at);
}

// The thread that is to let go of values is begun while that may still fail.
void prepare_future(stream_ref stream, call_site at) {
  constexpr const char* call = "weir::stream::enqueue_async";
  prepare_completion(stream, call, at).home().start_thread();
}

// What f has returned may be in use by now, and is about to be destroyed.
completion end_of_enqueued(stream_ref stream, call_site at) {
  try {
    return stream.completion(at);
  } catch (...) {
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult known = driver().cuStreamIsCapturing(stream.get(), &capture);
    // In a capture, which f has begun, nothing runs, and to wait would break it.
    if (known == CUDA_SUCCESS && capture == CU_STREAM_CAPTURE_STATUS_NONE) {
      static_cast<void>(driver().cuStreamSynchronize(stream.get()));
    }
    throw;
  }
}

void keep_until_done(future_state& left) noexcept {
  lane* const where = completion_access::where(left.after);
  const unsigned long long ticket = completion_access::ticket(left.after);
  left.told = [](completion_waiter& self, errc) noexcept {
    auto& over = static_cast<future_state&>(self);
    over.destroy(over);
  };
  left.by = teller::own;
  try {
    if (where != nullptr && ask_outcome(*where, ticket) == errc::not_ready && add_waiter(*where, ticket, left)) return;
  } catch (const std::exception&) {
    // Not with a thread that is there already.
  }
  left.destroy(left);
}

}  // namespace weir::detail
