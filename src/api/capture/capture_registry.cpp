// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_registry.cpp - the open captures that were begun through weir.
#include "api/capture/capture_registry.hpp"

#include "api/core/never_destroyed.hpp"
#include "api/stream/host_failures.hpp"

#include <weir/core/to_string.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <new>
#include <string>
#include <utility>

namespace weir::detail {
namespace {

// Returns true if `record` belongs to the valid capture that `info` describes. The caller holds the
// registry's lock.
bool takes_part(const capture_record& record, const stream_capture_info& info) noexcept {
  return info.status == CU_STREAM_CAPTURE_STATUS_ACTIVE && record.capture.id == info.id;
}

// Returns the context of the stream; null if it cannot be queried.
CUcontext context_or_null(CUstream stream) noexcept {
  try {
    return context_of(stream, call_site{});
  } catch (...) {
    return nullptr;
  }
}

}  // namespace

capture_registry& capture_registry::instance() noexcept {
  static never_destroyed<capture_registry> singleton;
  return *singleton;
}

auto capture_registry::find(unsigned long long id) noexcept -> records::iterator {
  return std::ranges::find_if(records_,
                              [&](const auto& record) { return record->capture.id == id; });
}

const capture_record* capture_registry::begin_end(unsigned long long id) noexcept {
  std::unique_lock lock{lock_};
  const auto found = find(id);
  if (found == records_.end() || (*found)->is_ending) return nullptr;
  (*found)->is_ending = true;
  queries_done_.wait(lock, [&] { return (*found)->active_queries == 0; });
  return found->get();
}

std::unique_ptr<capture_record> capture_registry::finish_end(unsigned long long id) noexcept {
  const std::lock_guard lock{lock_};
  const auto found = find(id);
  std::unique_ptr<capture_record> ended = std::move(*found);
  records_.erase(found);
  return ended;
}

bool capture_registry::add_participant(unsigned long long id) noexcept {
  const std::lock_guard lock{lock_};
  const auto found = find(id);
  if (found == records_.end()) return false;
  ++(*found)->participant_count;
  return true;
}

void capture_registry::add_participant(records& single) noexcept {
  const std::lock_guard lock{lock_};
  const unsigned long long id = single.front()->capture.id;
  if (find(id) == records_.end()) records_.splice(records_.end(), single);
  ++(*find(id))->participant_count;
}

void capture_registry::remove_participant(unsigned long long id) noexcept {
  for_each([=](capture_record& record) {
    if (record.capture.id == id) --record.participant_count;
  });
  remove_if([=](const capture_record& record) {
    return record.capture.id == id && record.capture.end == capture_end::external &&
           record.participant_count == 0;
  });
}

void remove_ended_capture(CUstream stream, const stream_capture_info& now) noexcept {
  if (now.status == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
    return;  // an invalidated capture has no id
  capture_registry::instance().remove_if([&](const capture_record& record) {
    return record.capture.end == capture_end::by_call && record.has_origin(stream) &&
           record.capture.id != now.id;
  });
}

capture_snapshot find_capture(CUstream stream, const stream_capture_info& info) {
  capture_snapshot snapshot;
  const bool active = info.status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
  capture_registry::instance().for_each([&](const capture_record& record) {
    // An invalidated capture has no id, so its record is found by the stream. Several records may
    // contain the stream, if earlier captures ended directly through the driver. Only the newest
    // one can be open, and it comes last.
    const bool matches = active ? record.capture.id == info.id : record.has_stream(stream);
    if (matches)
      snapshot = {record.capture, record.has_origin(stream), record.participant_count,
                  record.joined};
  });
  return snapshot;
}

bool remove_ended_captures() noexcept {
  const auto is_unscoped = [](const capture_record& record) {
    return record.capture.end != capture_end::by_scope;
  };
  const auto query = [](const capture_record& record) {
    return has_ended(record.capture.origin, record.capture.id);
  };
  bool any_ended = false;  // also if another thread is the first to remove the record
  const auto update = [&](capture_record& record, bool ended) {
    record.has_ended |= ended;
    any_ended |= ended;
  };
  capture_registry& registry = capture_registry::instance();
  try {
    registry.query_each(is_unscoped, query, update);
  } catch (const std::bad_alloc&) {
    return false;  // the next call removes them
  }
  while (registry.remove_if(std::mem_fn(&capture_record::has_ended)) != nullptr) any_ended = true;
  return any_ended;
}

// track_join() and track_event_record() must not fail, because the tracked operation has already
// succeeded. If memory is exhausted, they store less.

void track_join(CUstream stream, work_mark earlier_work) noexcept {
  stream_capture_info info;
  if (try_query_capture(stream, info) != CUDA_SUCCESS) return;
  remove_ended_capture(stream, info);
  if (info.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return;
  const CUcontext context = context_or_null(stream);
  capture_registry::instance().for_each([&](capture_record& record) {
    if (!takes_part(record, info) || record.has_stream(stream)) return;
    try {
      record.joined.push_back({stream, context, unique_thread_id(), earlier_work});
    } catch (const std::bad_alloc&) {  // an error message will not name the stream
    }
  });
}

void track_event_record(CUevent event, CUstream stream) noexcept {
  stream_capture_info info;
  const bool was_queried = try_query_capture(stream, info) == CUDA_SUCCESS;
  if (was_queried) remove_ended_capture(stream, info);
  capture_registry::instance().for_each([&](capture_record& record) {
    std::erase(record.events, event);  // the event's previous record no longer counts
    if (!was_queried || !takes_part(record, info)) return;
    try {
      record.events.push_back(event);
    } catch (const std::bad_alloc&) {  // the driver's own check remains
    }
  });
}

void untrack_event(CUevent event) noexcept {
  capture_registry::instance().for_each(
      [&](capture_record& record) { std::erase(record.events, event); });
}

unsigned long long capture_of_event(CUevent event) noexcept {
  const auto capture = capture_registry::instance().find_if(
      [&](const capture_record& record) { return record.has_event(event); });
  return capture ? capture->id : no_capture;
}

namespace {

// Returns a text that names the open capture with this id.
std::string text_of_capture(unsigned long long id) {
  const auto capture = capture_registry::instance().find_if(
      [&](const capture_record& record) { return record.capture.id == id; });
  return to_text(capture.value_or(active_capture{}));
}

}  // namespace

work_mark prepare_join(CUstream stream, unsigned long long awaited, call_site at) {
  if (awaited == no_capture || awaited == invalidated_capture) return nullptr;
  const unsigned long long id = capture_of(stream);
  if (id == awaited || id == invalidated_capture) return nullptr;
  if (id != no_capture)
    throw_error(errc::stream_capture_merge, "cuStreamWaitEvent", to_string(stream_ref{stream}),
                fmt::format("the stream takes part in {}, and the awaited work in {}, which differ "
                            "and stay valid; end one of these different captures before the wait",
                            text_of_capture(id), text_of_capture(awaited)),
                at);
  if (is_legacy(stream)) return nullptr;  // it cannot join a capture
  CUresult answer = CUDA_SUCCESS;
  work_mark mark = mark_work(stream, context_of(stream, at), answer, at);
  check(answer, "cuEventRecord", stream_ref{stream}, at);
  return mark;
}

}  // namespace weir::detail
