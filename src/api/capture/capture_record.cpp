// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_record.cpp - what weir stores about an open capture.
#include "api/capture/capture_record.hpp"

#include "api/stream/host_failures.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir::detail {
namespace {

constexpr const char* mode_names[] = {"global", "own_thread", "relaxed"};  // by capture_mode

}  // namespace

bool active_capture::may_end_here() const noexcept {
  return options.mode == capture_mode::relaxed || thread == unique_thread_id();
}

std::string to_text(const active_capture& capture) {
  // weir has no record of this capture.
  if (capture.thread == 0) return "a capture that was started directly through the driver";
  if (capture.end == capture_end::external) {
    return fmt::format("a capture that was started directly through the driver and joined at {}:{}",
                       capture.begun_at.file_name(), capture.begun_at.line());
  }
  return fmt::format("the capture begun at {}:{} in {} mode by thread {}",
                     capture.begun_at.file_name(), capture.begun_at.line(),
                     mode_names[static_cast<int>(capture.options.mode)], capture.system_thread_id);
}

bool joined_stream::matches(CUstream other) const noexcept {
  return stream == other && (stream != CU_STREAM_PER_THREAD || thread == unique_thread_id());
}

capture_record::capture_record(CUstream stream, call_site at)
    : capture{.origin = stream,
              .context = context_of(stream, at),
              .begun_at = at,
              .thread = unique_thread_id(),
              .system_thread_id = detail::system_thread_id()},
      origin_state_{acquire_stream_state(stream, stream_holder::user)} {}

capture_record::~capture_record() {
  if (origin_state_ != nullptr) origin_state_->release_noexcept(stream_holder::user);
}

bool capture_record::has_origin(CUstream stream) const noexcept {
  return joined_stream{capture.origin, capture.context, capture.thread}.matches(stream);
}

bool capture_record::has_stream(CUstream stream) const noexcept {
  return has_origin(stream) || std::ranges::any_of(joined, [&](const joined_stream& each) {
           return each.matches(stream);
         });
}

bool capture_record::has_context(CUcontext context) const noexcept {
  return capture.context == context || std::ranges::any_of(joined, [&](const joined_stream& each) {
           return each.context == context;
         });
}

bool capture_record::has_event(CUevent event) const noexcept {
  return std::ranges::find(events, event) != events.end();
}

bool capture_record::can_be_queried() const noexcept {
  return capture.thread == unique_thread_id() || origin_state_ != nullptr;
}

}  // namespace weir::detail
