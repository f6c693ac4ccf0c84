// api/capture/capture_invalidation.cpp - which call broke which capture.
#include "api/capture/capture_registry.hpp"
#include "api/stream/host_failures.hpp"
#include "driver/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace weir::detail {
namespace {

// What an answer says of the capture that it broke, if it broke one.
enum class evidence {
  none,  // it broke none: it came before the driver looked at captures, or is about something else
  consequence,  // that of the stream was broken by an earlier call
  certain,      // that of the stream, or of the event, which it was called on
  unsafe,    // that of the stream, or all that mind what the thread does; also where it was broken
             // before
  implicit,  // all in which blocking streams take part; also where they were broken before
};

evidence evidence_of(errc code, std::string_view call) noexcept {
  switch (code) {
    case errc::stream_capture_invalidated: return evidence::consequence;
    case errc::stream_capture_isolation:
    case errc::stream_capture_merge:
    case errc::stream_capture_unmatched: return evidence::certain;
    // Of what looks at events only the question for a time breaks nothing.
    case errc::captured_event:
      return call == "cuEventElapsedTime" ? evidence::none : evidence::certain;
    case errc::stream_capture_unsupported: return evidence::unsafe;
    case errc::stream_capture_implicit: return evidence::implicit;
    // Arguments are looked at before captures; only in a wait the event is looked at later.
    case errc::invalid_value:
    case errc::invalid_handle:
      return call == "cuStreamWaitEvent" ? evidence::certain : evidence::none;
    default: return evidence::none;
  }
}

bool is_invalidated(const driver_table& calls, CUstream stream) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return calls.cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
         status == CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

// What the thread's own mode is: there is no question for it.
capture_mode thread_mode(const driver_table& calls) noexcept {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  if (calls.cuThreadExchangeStreamCaptureMode(&mode) != CUDA_SUCCESS) return capture_mode::global;
  CUstreamCaptureMode restored = mode;
  static_cast<void>(calls.cuThreadExchangeStreamCaptureMode(&restored));
  return static_cast<capture_mode>(mode);
}

// Is a call that is unsafe in captures refused for the sake of this one, to a thread of that mode?
bool prohibits_unsafe_calls(const active_capture& capture, capture_mode mode) noexcept {
  if (mode == capture_mode::relaxed || capture.options.mode == capture_mode::relaxed) return false;
  if (capture.thread == unique_thread_id()) return true;
  return capture.options.mode == capture_mode::global && mode == capture_mode::global;
}

// Calls that all streams of a context have to do with are refused in every mode.
bool concerns_whole_context(std::string_view call) noexcept {
  return call == "cuCtxSynchronize" || call == "cuGreenCtxRecordEvent" ||
         call == "cuGreenCtxWaitEvent";
}

bool may_block(CUstream stream) noexcept {
  const auto facts = find_stream_properties(stream);
  return !facts || facts->blocking;
}

bool has_blocking_stream(const capture_record& record) noexcept {
  return may_block(record.capture.origin) ||
         std::ranges::any_of(record.joined,
                             [](const joined_stream& each) { return may_block(each.stream); });
}

// A call that has failed, and what is known of the captures that it may have broken.
class failed_call {
 public:
  failed_call(const driver_table& calls, errc code, const char* call, subject on) noexcept
      : evidence_{evidence_of(code, call)},
        on_{on},
        concerns_context_{concerns_whole_context(call)} {
    if (evidence_ == evidence::none) return;
    if (on_.what == subject::kind::stream) {
      stream_ = static_cast<CUstream>(const_cast<void*>(on_.handle));
      stream_is_invalidated_ = is_invalidated(calls, stream_);
    }
    if (evidence_ == evidence::unsafe) mode_ = thread_mode(calls);
    capture_registry::instance().for_each(
        [&](const capture_record& record) { subject_is_known_ |= contains_subject(record); });
  }

  [[nodiscard]] bool is_unrelated() const noexcept { return evidence_ == evidence::none; }
  // Has it only found what another call had done?
  [[nodiscard]] bool is_consequence() const noexcept { return evidence_ == evidence::consequence; }

  [[nodiscard]] bool may_have_invalidated(const capture_record& record) const noexcept {
    if (record.invalidation.call != nullptr) return false;
    switch (evidence_) {
      case evidence::none: return false;
      case evidence::consequence:
      case evidence::certain: return may_contain_subject(record);
      case evidence::unsafe:
        return !record.invalidated_directly &&
               (may_contain_subject(record) || contains_context(record) ||
                prohibits_unsafe_calls(record.capture, mode_));
      case evidence::implicit: return !record.invalidated_directly && has_blocking_stream(record);
    }
    return false;
  }

 private:
  [[nodiscard]] bool contains_subject(const capture_record& record) const noexcept {
    if (on_.what == subject::kind::event)
      return std::ranges::find(record.events, on_.handle) != record.events.end();
    return stream_is_invalidated_ && record.has_stream(stream_);
  }
  // Streams that have joined directly through the driver, and events that were recorded so, may be
  // of any.
  [[nodiscard]] bool may_contain_subject(const capture_record& record) const noexcept {
    if (subject_is_known_) return contains_subject(record);
    return stream_is_invalidated_ || on_.what == subject::kind::event;
  }
  [[nodiscard]] bool contains_context(const capture_record& record) const noexcept {
    return concerns_context_ &&
           record.has_context(static_cast<CUcontext>(const_cast<void*>(on_.handle)));
  }

  evidence evidence_;
  subject on_;
  bool concerns_context_;
  bool subject_is_known_ = false;  // a capture that the stream or the event is of
  CUstream stream_ = nullptr;
  bool stream_is_invalidated_ = false;
  capture_mode mode_ = capture_mode::relaxed;
};

}  // namespace

void attribute_failure(errc code, const char* call, subject on, call_site at) noexcept {
  const driver_table* const calls = try_driver();
  // Nothing broke there: weir refuses before the driver hears of it.
  if (calls == nullptr || inside_host_function) return;
  const failed_call failed{*calls, code, call, on};
  if (failed.is_unrelated()) return;
  const auto is_candidate = [&](const capture_record& record) {
    return failed.may_have_invalidated(record);
  };
  const auto is_invalidated_now = [&](const capture_record& record) {
    return is_invalidated(*calls, record.capture.origin);
  };
  const auto note = [&](capture_record& record, bool broken) {
    if (broken && failed.is_consequence()) record.invalidated_directly = true;
    if (broken && failed.may_have_invalidated(record) && !failed.is_consequence())
      record.invalidation = {call, code, at, system_thread_id()};
    return false;
  };
  try {
    static_cast<void>(
        capture_registry::instance().query_each(is_candidate, is_invalidated_now, note));
  } catch (const std::bad_alloc&) {  // the end of the capture will not know
  }
}

std::string to_text(const capture_invalidation& invalidation) {
  if (invalidation.call == nullptr)
    return "broken by a call that was made directly through the driver";
  const char* const code = result_text_of(static_cast<int>(invalidation.code)).name;
  if (invalidation.where.line() == 0)
    return fmt::format("broken by {} ({}, thread {})", invalidation.call, code,
                       invalidation.system_thread_id);
  return fmt::format("broken by {} at {}:{} ({}, thread {})", invalidation.call,
                     invalidation.where.file_name(), invalidation.where.line(), code,
                     invalidation.system_thread_id);
}

}  // namespace weir::detail
