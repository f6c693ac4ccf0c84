// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_invalidation.cpp - determines which call invalidated which capture.
#include "api/capture/capture_invalidation.hpp"

#include "api/capture/capture_checks.hpp"
#include "api/capture/capture_registry.hpp"
#include "api/stream/host_failures.hpp"
#include "driver/relaxed_thread_mode.hpp"
#include "driver/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

namespace weir::detail {
namespace {

// The captures that a failed driver call may have invalidated, as far as its result tells.
enum class evidence {
  // No capture. The driver returned before it checked captures, or the result has another cause.
  none,
  // No capture. An earlier call had already invalidated the capture of the stream.
  consequence,
  // The capture of the stream or event that was passed to the call.
  certain,
  // The capture of the stream, or every capture that forbids unsafe calls on the calling thread.
  // The driver returns such a result also if the capture was already invalidated.
  unsafe,
  // Every capture in which blocking streams participate, because the call used the legacy default
  // stream. The driver returns such a result also if the capture was already invalidated.
  implicit,
};

evidence evidence_of(errc code, std::string_view call) noexcept {
  switch (code) {
    case errc::stream_capture_invalidated: return evidence::consequence;
    case errc::stream_capture_isolation:
    case errc::stream_capture_merge:
    case errc::stream_capture_unmatched: return evidence::certain;
    // Among the calls that query events, only cuEventElapsedTime invalidates no capture.
    case errc::captured_event:
      return call == "cuEventElapsedTime" ? evidence::none : evidence::certain;
    case errc::stream_capture_unsupported: return evidence::unsafe;
    case errc::stream_capture_implicit: return evidence::implicit;
    // Drivers check the arguments first, so no capture is affected. Only cuStreamWaitEvent checks
    // the event after it has checked captures, and then invalidates the stream's capture.
    case errc::invalid_value:
    case errc::invalid_handle:
      return call == "cuStreamWaitEvent" ? evidence::certain : evidence::none;
    default: return evidence::none;
  }
}

bool is_invalidated(CUstream stream) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return driver().cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
         status == CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

// Returns the calling thread's capture mode. The driver has no query for the mode, so the function
// exchanges it and restores it. Returns global if that fails.
capture_mode thread_mode() noexcept {
  const relaxed_thread_mode relaxed{driver()};
  return relaxed.answer() == CUDA_SUCCESS ? static_cast<capture_mode>(relaxed.previous())
                                          : capture_mode::global;
}

// Returns true if the driver refuses unsafe calls of the calling thread because of `capture`.
// `mode` is the capture mode of the thread.
bool prohibits_unsafe_calls(const active_capture& capture, capture_mode mode) noexcept {
  if (mode == capture_mode::relaxed || capture.options.mode == capture_mode::relaxed) return false;
  if (capture.thread == unique_thread_id()) return true;
  return capture.options.mode == capture_mode::global && mode == capture_mode::global;
}

// Returns true if the call affects all streams of a context. The driver refuses such a call in
// every capture mode if one of the streams is capturing.
bool concerns_whole_context(std::string_view call) noexcept {
  return call == "cuCtxSynchronize" || call == "cuGreenCtxRecordEvent" ||
         call == "cuGreenCtxWaitEvent";
}

bool may_block(CUstream stream) noexcept {
  const auto facts = find_stream_properties(stream);
  return !facts || facts->blocking;  // not known if weir does not own the stream
}

bool has_blocking_stream(const capture_record& record) noexcept {
  return may_block(record.capture.origin) ||
         std::ranges::any_of(record.joined,
                             [](const joined_stream& each) { return may_block(each.stream); });
}

// A failed call and the captures that it may have invalidated.
class failed_call {
 public:
  failed_call(evidence proof, const char* call, subject object) noexcept
      : evidence_{proof}, object_{object}, concerns_context_{concerns_whole_context(call)} {
    if (object_.type == subject::kind::stream) {
      stream_ = static_cast<CUstream>(const_cast<void*>(object_.handle));
      stream_is_invalidated_ = is_invalidated(stream_);
    }
    if (evidence_ == evidence::unsafe) mode_ = thread_mode();
    capture_registry::instance().for_each(
        [&](const capture_record& record) { subject_is_known_ |= contains_subject(record); });
  }

  // Returns true if the result of the call fits the capture of `record` and no earlier cause is
  // known.
  [[nodiscard]] bool may_have_invalidated(const capture_record& record) const noexcept {
    if (record.invalidation.call != nullptr) return false;
    switch (evidence_) {
      case evidence::none: return false;
      case evidence::consequence:
      case evidence::certain: return may_contain_subject(record);
      case evidence::unsafe:
        return !record.has_unknown_cause &&
               (may_contain_subject(record) || contains_context(record) ||
                prohibits_unsafe_calls(record.capture, mode_));
      case evidence::implicit: return !record.has_unknown_cause && has_blocking_stream(record);
    }
    return false;
  }

 private:
  // Returns true if the event, or the invalidated stream, that was passed to the call is listed in
  // the record.
  [[nodiscard]] bool contains_subject(const capture_record& record) const noexcept {
    if (object_.type == subject::kind::event)
      return record.has_event(static_cast<CUevent>(const_cast<void*>(object_.handle)));
    return stream_is_invalidated_ && record.has_stream(stream_);
  }
  // Like contains_subject(). If no record contains the stream or the event, returns true for every
  // record. The stream may have joined, or the event may have been recorded, directly through the
  // driver.
  [[nodiscard]] bool may_contain_subject(const capture_record& record) const noexcept {
    if (subject_is_known_) return contains_subject(record);
    return stream_is_invalidated_ || object_.type == subject::kind::event;
  }
  [[nodiscard]] bool contains_context(const capture_record& record) const noexcept {
    return concerns_context_ &&
           record.has_context(static_cast<CUcontext>(const_cast<void*>(object_.handle)));
  }

  evidence evidence_;
  subject object_;
  bool concerns_context_;
  bool subject_is_known_ = false;  // true if any record contains the object
  CUstream stream_ = nullptr;
  bool stream_is_invalidated_ = false;  // true if the capture of stream_ is invalidated
  capture_mode mode_ = capture_mode::relaxed;
};

}  // namespace

void attribute_failure(errc code, const char* call, subject object, call_site at) noexcept {
  // Inside a host function, weir throws before it calls the driver, so no capture was invalidated.
  if (try_driver() == nullptr || inside_host_function) return;
  const evidence proof = evidence_of(code, call);
  if (proof == evidence::none) return;
  const failed_call failed{proof, call, object};
  const auto is_candidate = [&](const capture_record& record) {
    return failed.may_have_invalidated(record);
  };
  const auto is_invalidated_now = [&](const capture_record& record) {
    return is_invalidated(record.capture.origin);
  };
  const auto note = [&](capture_record& record, bool broken) {
    if (!broken) return;
    if (proof == evidence::consequence) {
      record.has_unknown_cause = true;
    } else if (failed.may_have_invalidated(
                   record)) {  // no other thread has noted its call meanwhile
      record.invalidation = {call, code, at, system_thread_id()};
    }
  };
  try {
    capture_registry::instance().query_each(is_candidate, is_invalidated_now, note);
  } catch (const std::bad_alloc&) {  // the end of the capture cannot name the call
  }
}

std::string to_text(const capture_invalidation& invalidation) {
  if (invalidation.call == nullptr)
    return "broken by a call that weir did not see fail, such as one made directly through the "
           "driver";
  const call_site& where = invalidation.where;
  const std::string place =
      where.line() == 0 ? "" : fmt::format(" at {}:{}", where.file_name(), where.line());
  return fmt::format("broken by {}{} ({}, thread {})", invalidation.call, place,
                     result_text_of(static_cast<int>(invalidation.code)).name,
                     invalidation.system_thread_id);
}

namespace {

// An invalidated capture and the call that invalidated it.
struct found_invalidation {
  active_capture capture;
  capture_invalidation invalidation;
};

// Returns the capture that a call on `object` found invalidated: the newest one that contains the
// stream, or the newest invalidated one of the calling thread if `object` is not a stream.
std::optional<found_invalidation> find_invalidated(subject object) {
  const bool is_stream = object.type == subject::kind::stream;
  std::optional<found_invalidation> found;
  capture_registry::instance().for_each([&](const capture_record& record) {
    const bool matches =
        is_stream ? record.has_stream(static_cast<CUstream>(const_cast<void*>(object.handle)))
                  : record.capture.thread == unique_thread_id() &&
                        (record.invalidation.call != nullptr || record.has_unknown_cause);
    if (matches) found = found_invalidation{record.capture, record.invalidation};
  });
  return found;
}

}  // namespace

std::string explain_invalidated(subject object) {
  if (!any_capture_active()) return {};
  const std::optional<found_invalidation> found = find_invalidated(object);
  if (!found) return {};
  return fmt::format("{} was {}; fix that call and capture again", to_text(found->capture),
                     to_text(found->invalidation));
}

}  // namespace weir::detail
