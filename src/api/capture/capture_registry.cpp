// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_registry.cpp - the open captures that were begun through weir.
#include "api/capture/capture_registry.hpp"

#include "api/core/never_destroyed.hpp"
#include "api/stream/host_failures.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir::detail {
namespace {

const char* name_of(capture_mode mode) noexcept {
  switch (mode) {
    case capture_mode::global: return "global";
    case capture_mode::own_thread: return "own_thread";
    case capture_mode::relaxed: return "relaxed";
  }
  return "an unknown";
}

// Returns true if `record` is the capture that `info` describes. Called with the registry's lock
// held.
bool takes_part(const capture_record& record, const stream_capture_info& info) noexcept {
  return info.status == CU_STREAM_CAPTURE_STATUS_ACTIVE && record.capture.id == info.id;
}

}  // namespace

bool joined_stream::matches(CUstream other) const noexcept {
  return stream == other && (stream != CU_STREAM_PER_THREAD || thread == unique_thread_id());
}

bool capture_record::has_origin(CUstream stream) const noexcept {
  return capture.origin == stream &&
         (stream != CU_STREAM_PER_THREAD || capture.thread == unique_thread_id());
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

bool capture_record::can_be_queried() const noexcept {
  return capture.thread == unique_thread_id() ? has_origin(capture.origin)
                                              : origin_state_ != nullptr;
}

capture_registry& capture_registry::instance() noexcept {
  static never_destroyed<capture_registry> singleton;
  return *singleton;
}

void capture_registry::reserve() {
  const std::lock_guard lock{lock_};
  // Other threads may add records before this one does; there are never more than `spare` of them.
  constexpr std::size_t spare = 64;
  if (records_.capacity() < records_.size() + spare)
    records_.reserve(2 * records_.size() + 2 * spare);
}

void capture_registry::add(std::unique_ptr<capture_record> record) noexcept {
  const std::lock_guard lock{lock_};
  records_.push_back(std::move(record));
}

std::unique_ptr<capture_record> capture_registry::remove(unsigned long long id) noexcept {
  std::unique_lock lock{lock_};
  for (;;) {
    const auto found = find(id);
    if (found == records_.end()) return nullptr;
    if ((*found)->active_queries == 0) {
      std::unique_ptr<capture_record> removed = std::move(*found);
      records_.erase(found);
      return removed;
    }
    queries_done_.wait(lock);
  }
}

auto capture_registry::find(unsigned long long id) noexcept -> records::iterator {
  return std::ranges::find_if(records_,
                              [&](const auto& record) { return record->capture.id == id; });
}

bool capture_registry::add_participant(unsigned long long id) noexcept {
  const std::lock_guard lock{lock_};
  const auto found = find(id);
  if (found == records_.end()) return false;
  ++(*found)->participant_count;
  return true;
}

void capture_registry::add_participant(std::unique_ptr<capture_record>& record) noexcept {
  const std::lock_guard lock{lock_};
  auto found = find(record->capture.id);
  if (found == records_.end()) found = records_.insert(found, std::move(record));
  ++(*found)->participant_count;
}

void capture_registry::remove_participant(unsigned long long id) noexcept {
  // Destroyed after the lock is released, because destroying a stream calls the driver.
  std::unique_ptr<capture_record> removed;
  std::unique_lock lock{lock_};
  if (const auto found = find(id); found == records_.end() || --(*found)->participant_count != 0)
    return;
  for (;;) {
    const auto found = find(id);
    // Ended, or begun through weir.
    if (found == records_.end() || !(*found)->capture.external) return;
    if ((*found)->participant_count != 0) return;  // another participant has joined meanwhile
    if ((*found)->active_queries == 0) {
      removed = std::move(*found);
      records_.erase(found);
      return;
    }
    queries_done_.wait(lock);
  }
}

// An H200's driver crashes if one thread queries a capture that another thread is ending, so this
// waits for running queries.
void capture_registry::begin_end(unsigned long long id) noexcept {
  std::unique_lock lock{lock_};
  for (const auto& record : records_) record->is_ending |= record->capture.id == id;
  queries_done_.wait(lock, [&] {
    return std::ranges::none_of(records_, [&](const auto& record) {
      return record->capture.id == id && record->active_queries != 0;
    });
  });
}

void capture_registry::detach(capture_record& record) noexcept {
  const auto found =
      std::ranges::find_if(records_, [&](const auto& each) { return each.get() == &record; });
  if (found == records_.end()) return;  // another querying thread was faster
  record.stop_counting();
  record.detached = std::move(*found);
  records_.erase(found);
}

std::unique_ptr<capture_record> capture_registry::end_query(capture_record& record) noexcept {
  if (--record.active_queries != 0) return nullptr;
  queries_done_.notify_all();
  return std::move(record.detached);
}

CUresult try_query_capture(CUstream stream, stream_capture_info& info) noexcept {
  CUresult answer = driver().cuStreamGetCaptureInfo_v3(stream, &info.status, &info.id, &info.graph,
                                                       &info.nodes, &info.edges, &info.count);
  if (answer == CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER) {
    answer = driver().cuStreamGetCaptureInfo_v2(stream, &info.status, &info.id, &info.graph,
                                                &info.nodes, &info.count);
  }
  return answer;
}

CUresult query_capture_id(CUstream stream, CUstreamCaptureStatus& status, cuuint64_t& id) noexcept {
  const CUresult answer =
      driver().cuStreamGetCaptureInfo_v3(stream, &status, &id, nullptr, nullptr, nullptr, nullptr);
  if (answer != CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER) return answer;
  return driver().cuStreamGetCaptureInfo_v2(stream, &status, &id, nullptr, nullptr, nullptr);
}

stream_capture_info query_capture(CUstream stream, call_site at) {
  stream_capture_info info;
  check(try_query_capture(stream, info), "cuStreamGetCaptureInfo", stream_ref{stream}, at);
  return info;
}

void remove_ended_capture(CUstream stream, const stream_capture_info& now) noexcept {
  if (now.status == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
    return;  // an invalidated capture has no id
  unsigned long long ended = 0;
  capture_registry::instance().for_each([&](const capture_record& record) {
    const bool other = !record.capture.scoped && !record.is_ending && record.has_origin(stream) &&
                       record.capture.id != now.id;
    if (other) ended = record.capture.id;
  });
  if (ended != 0) static_cast<void>(capture_registry::instance().remove(ended));
}

std::string to_text(const active_capture& capture) {
  if (capture.external) {
    return fmt::format("a capture that was started directly through the driver and joined at {}:{}",
                       capture.begun_at.file_name(), capture.begun_at.line());
  }
  return fmt::format("the capture begun at {}:{} in {} mode by thread {}",
                     capture.begun_at.file_name(), capture.begun_at.line(),
                     name_of(capture.options.mode), capture.system_thread_id);
}

capture_snapshot find_capture(CUstream stream, const stream_capture_info& info) {
  capture_snapshot snapshot;
  const bool active = info.status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
  capture_registry::instance().for_each([&](const capture_record& record) {
    // An invalidated capture has no id. If the stream was in several, only the last one can still
    // be open.
    const bool matches = active ? record.capture.id == info.id : record.has_stream(stream);
    if (matches)
      snapshot = {record.capture, record.has_origin(stream), record.participant_count,
                  record.joined};
  });
  return snapshot;
}

bool remove_ended_captures() noexcept {
  const auto by_hand = [](const capture_record& record) {
    return !record.capture.scoped || record.capture.external;
  };
  const auto has_ended = [](const capture_record& record) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0;
    return query_capture_id(record.capture.origin, status, id) == CUDA_SUCCESS &&
           (status == CU_STREAM_CAPTURE_STATUS_NONE ||
            (status == CU_STREAM_CAPTURE_STATUS_ACTIVE && id != record.capture.id));
  };
  try {
    return capture_registry::instance().query_each(
               by_hand, has_ended, [](const capture_record&, bool e) { return e; }) != 0;
  } catch (const std::bad_alloc&) {
    return false;  // the next call will remove it
  }
}

// Tracking of operations during captures. It must not fail, because the operation has already
// succeeded. If memory is exhausted, less is known.

void track_join(CUstream stream) noexcept {
  stream_capture_info info;
  if (try_query_capture(stream, info) != CUDA_SUCCESS) return;
  remove_ended_capture(stream, info);
  if (info.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return;
  const auto facts = find_stream_properties(stream);
  capture_registry::instance().for_each([&](capture_record& record) {
    if (!takes_part(record, info) || record.has_stream(stream)) return;
    try {
      record.joined.push_back({stream, facts ? facts->context : nullptr, unique_thread_id()});
    } catch (const std::bad_alloc&) {  // an error message will not name the stream
    }
  });
}

void track_event_record(CUevent event, CUstream stream) noexcept {
  stream_capture_info info;
  const bool is_known = try_query_capture(stream, info) == CUDA_SUCCESS;
  if (is_known) remove_ended_capture(stream, info);
  capture_registry::instance().for_each([&](capture_record& record) {
    std::erase(record.events, event);
    if (!is_known || !takes_part(record, info)) return;
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

bool is_captured_event(CUevent event) noexcept {
  bool found = false;
  capture_registry::instance().for_each([&](const capture_record& record) {
    found |= std::ranges::find(record.events, event) != record.events.end();
  });
  return found;
}

}  // namespace weir::detail
