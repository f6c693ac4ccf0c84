// api/advice.cpp - what to do about an error.
#include "api/advice.hpp"

#include <string_view>

namespace weir::detail {

const char* advice_on(errc code, const char* call) noexcept {
  const std::string_view name = call;
  switch (code) {
    case errc::closed:
      return "the object was closed, released or moved from; keep it open while it is used, and the owner longer than "
             "its references";
    case errc::not_permitted:
      return "inside a host function no CUDA call may be made; leave the work to the thread that waits for it";
    case errc::invalid_context:
      return "make a context current (weir::context_scope), or name a stream that was made on a device";
    case errc::invalid_device: return "the devices are weir::device::all()";
    case errc::invalid_handle:
      if (name == "cuEventRecord") return "the event and the stream have to be of one context, and both alive";
      return "what the handle named is gone, or belongs to another context";
    case errc::out_of_memory:
      return "free something, or wait for stream-ordered frees that are still queued (stream.sync())";
    case errc::not_recorded: return "record both events, each in a stream, before asking for the time between them";
    case errc::timing_disabled: return "only a timed_event has a time: stream.record_timed()";
    case errc::not_ready:
      if (name == "cuEventElapsedTime") return "wait for the later event first, or call weir::sync_elapsed()";
      return "";
    case errc::captured_event:
      return "an event recorded in a capture orders the work inside that capture; record it again outside before the "
             "host looks at it";
    case errc::stream_capture_unsupported:
      return "this cannot be recorded in a capture; do it before the capture begins or after it ends";
    case errc::stream_capture_implicit:
      return "the legacy default stream waits for a stream that captures; use a stream of your own, or capture on a "
             "non-blocking one";
    case errc::stream_capture_invalidated: return "an earlier call broke the capture; end it and capture again";
    case errc::stream_capture_isolation:
      return "an event from outside of the capture; record it on a stream that takes part in the capture";
    case errc::call_requires_newer_driver: return "install a newer driver; `weir info` shows what this one lacks";
    case errc::context_is_destroyed:
      return "the context was reset or released behind weir's back; make the objects again";
    case errc::illegal_address:
    case errc::launch_failed:
    case errc::launch_timeout:
    case errc::device_assert:
    case errc::hardware_stack_error:
    case errc::illegal_instruction:
    case errc::misaligned_address:
    case errc::invalid_address_space:
    case errc::invalid_pc:
      return "work that was queued earlier failed, and the context is lost: only ending the process mends it";
    default: return "";
  }
}

}  // namespace weir::detail
