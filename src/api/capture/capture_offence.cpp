// api/capture/capture_offence.cpp - which call broke which capture.
#include "api/capture/capture_registry.hpp"
#include "api/stream/host_failures.hpp"
#include "driver/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace weir::detail {
namespace {

// What an answer says of the capture that it broke, if it broke one.
enum class trace {
  none,      // it broke none: it came before the driver looked at captures, or is about something else
  earlier,   // that of the stream was broken by an earlier call
  certain,   // that of the stream, or of the event, which it was called on
  unsafe,    // that of the stream, or all that mind what the thread does; also where it was broken before
  implicit,  // all in which blocking streams take part; also where they were broken before
};

trace trace_of(errc code, std::string_view call) noexcept {
  switch (code) {
    case errc::stream_capture_invalidated: return trace::earlier;
    case errc::stream_capture_isolation:
    case errc::stream_capture_merge:
    case errc::stream_capture_unmatched: return trace::certain;
    // Of what looks at events only the question for a time breaks nothing.
    case errc::captured_event: return call == "cuEventElapsedTime" ? trace::none : trace::certain;
    case errc::stream_capture_unsupported: return trace::unsafe;
    case errc::stream_capture_implicit: return trace::implicit;
    // Arguments are looked at before captures; only in a wait the event is looked at later.
    case errc::invalid_value:
    case errc::invalid_handle: return call == "cuStreamWaitEvent" ? trace::certain : trace::none;
    default: return trace::none;
  }
}

bool is_broken_in(const driver_table& calls, CUstream stream) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return calls.cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

// What the thread's own mode is: there is no question for it.
capture_mode mode_of_thread(const driver_table& calls) noexcept {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  if (calls.cuThreadExchangeStreamCaptureMode(&mode) != CUDA_SUCCESS) return capture_mode::global;
  CUstreamCaptureMode back = mode;
  static_cast<void>(calls.cuThreadExchangeStreamCaptureMode(&back));
  return static_cast<capture_mode>(mode);
}

// Is a call that is unsafe in captures refused for the sake of this one, to a thread of that mode?
bool minds(const open_capture& capture, capture_mode mode) noexcept {
  if (mode == capture_mode::relaxed || capture.options.mode == capture_mode::relaxed) return false;
  if (capture.thread == thread_number()) return true;
  return capture.options.mode == capture_mode::global && mode == capture_mode::global;
}

// Calls that all streams of a context have to do with are refused in every mode.
bool is_of_whole_context(std::string_view call) noexcept {
  return call == "cuCtxSynchronize" || call == "cuGreenCtxRecordEvent" || call == "cuGreenCtxWaitEvent";
}

bool may_block(CUstream stream) noexcept {
  const auto facts = facts_of(stream);
  return !facts || facts->blocking;
}

bool has_blocking_stream(const capture_record& record) noexcept {
  return may_block(record.what.origin) ||
         std::ranges::any_of(record.joined, [](const joined_stream& each) { return may_block(each.stream); });
}

// A call that has failed, and what is known of the captures that it may have broken.
class suspect {
 public:
  suspect(const driver_table& calls, errc code, const char* call, subject on) noexcept
      : trace_{trace_of(code, call)}, on_{on}, of_context_{is_of_whole_context(call)} {
    if (trace_ == trace::none) return;
    if (on_.what == subject::kind::stream) {
      stream_ = static_cast<CUstream>(const_cast<void*>(on_.handle));
      stream_is_broken_ = is_broken_in(calls, stream_);
    }
    if (trace_ == trace::unsafe) mode_ = mode_of_thread(calls);
    capture_registry::instance().each([&](const capture_record& record) { is_known_ |= has_subject(record); });
  }

  [[nodiscard]] bool is_innocent() const noexcept { return trace_ == trace::none; }
  // Has it only found what another call had done?
  [[nodiscard]] bool is_witness() const noexcept { return trace_ == trace::earlier; }

  [[nodiscard]] bool may_have_broken(const capture_record& record) const noexcept {
    if (record.first.call != nullptr) return false;
    switch (trace_) {
      case trace::none: return false;
      case trace::earlier:
      case trace::certain: return is_of_subject(record);
      case trace::unsafe:
        return !record.broken_past_weir &&
               (is_of_subject(record) || is_of_context(record) || minds(record.what, mode_));
      case trace::implicit: return !record.broken_past_weir && has_blocking_stream(record);
    }
    return false;
  }

 private:
  [[nodiscard]] bool has_subject(const capture_record& record) const noexcept {
    if (on_.what == subject::kind::event) return std::ranges::find(record.events, on_.handle) != record.events.end();
    return stream_is_broken_ && record.has(stream_);
  }
  // Streams that have joined past weir, and events that were recorded so, may be of any.
  [[nodiscard]] bool is_of_subject(const capture_record& record) const noexcept {
    if (is_known_) return has_subject(record);
    return stream_is_broken_ || on_.what == subject::kind::event;
  }
  [[nodiscard]] bool is_of_context(const capture_record& record) const noexcept {
    return of_context_ && record.has_context(static_cast<CUcontext>(const_cast<void*>(on_.handle)));
  }

  trace trace_;
  subject on_;
  bool of_context_;
  bool is_known_ = false;  // a capture that the stream or the event is of
  CUstream stream_ = nullptr;
  bool stream_is_broken_ = false;
  capture_mode mode_ = capture_mode::relaxed;
};

}  // namespace

void note_failure(errc code, const char* call, subject on, call_site at) noexcept {
  const driver_table* const calls = driver_if_any();
  // Nothing broke there: weir refuses before the driver hears of it.
  if (calls == nullptr || inside_host_function) return;
  const suspect failed{*calls, code, call, on};
  if (failed.is_innocent()) return;
  const auto is_candidate = [&](const capture_record& record) { return failed.may_have_broken(record); };
  const auto is_broken = [&](const capture_record& record) { return is_broken_in(*calls, record.what.origin); };
  const auto note = [&](capture_record& record, bool broken) {
    if (broken && failed.is_witness()) record.broken_past_weir = true;
    if (broken && failed.may_have_broken(record) && !failed.is_witness()) record.first = {call, code, at, thread_id()};
    return false;
  };
  try {
    static_cast<void>(capture_registry::instance().ask_each(is_candidate, is_broken, note));
  } catch (const std::bad_alloc&) {  // the end of the capture will not know
  }
}

std::string to_text(const capture_offence& first) {
  if (first.call == nullptr) return "broken by a call that was made past weir";
  const char* const code = words_of(static_cast<int>(first.code)).name;
  if (first.where.line() == 0) return fmt::format("broken by {} ({}, thread {})", first.call, code, first.thread_id);
  return fmt::format("broken by {} at {}:{} ({}, thread {})", first.call, first.where.file_name(), first.where.line(),
                     code, first.thread_id);
}

}  // namespace weir::detail
