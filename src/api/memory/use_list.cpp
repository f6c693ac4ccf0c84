// api/memory/use_list.cpp - the streams, other than its own, that some memory was used on.
#include "api/memory/use_list.hpp"

#include "api/capture/captures.hpp"
#include "api/core/check.hpp"
#include "api/core/guard.hpp"
#include "api/stream/host_failures.hpp"
#include "api/stream/kept_event.hpp"
#include "api/device/make_current.hpp"
#include "api/capture/relaxed_captures.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace weir::detail {
namespace {

// An event of the stream's context, without timing.
CUevent make_event(CUstream stream, call_site at) {
  const CUcontext context = context_of(stream, at);
  if (context == nullptr) fail(errc::invalid_context, "cuEventCreate", stream_ref{stream}, at);
  const make_current current{context, at};
  CUevent event = nullptr;
  check(driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate", stream_ref{stream}, at);
  return event;
}

}  // namespace

use_list::~use_list() {
  for (const use& u : uses_) {
    if (u.state != nullptr) u.state->drop(share::watcher);
    if (u.event != nullptr) check_unraised(driver().cuEventDestroy_v2(u.event), "cuEventDestroy", event_ref{u.event});
  }
}

use_list::place use_list::place_of(CUstream stream, call_site at) {
  if (is_legacy(stream)) return {CU_STREAM_LEGACY, current_handle(at), 0};
  if (is_default(stream)) return {stream, current_handle(at), thread_number()};
  return {stream, nullptr, 0};
}

use_list::use* use_list::find(const place& where) noexcept {
  const auto found = std::ranges::find(uses_, where, &use::where);
  return found != uses_.end() ? &*found : nullptr;
}

std::vector<use_list::use> use_list::take_finished(call_site at) {
  std::vector<use> finished;
  if (inside_host_function || in_forked_child()) return finished;
  const auto gets_no_more = [](const use& u) { return u.state != nullptr && !u.state->has_users(); };
  if (std::ranges::none_of(uses_, gets_no_more)) return finished;
  const relaxed_captures unharmed{at};  // also the one that the memory is used in just now
  const auto is_finished = [&](const use& u) {
    return gets_no_more(u) && !is_captured(u.where.stream) &&
           driver().cuStreamQuery(u.where.stream) != CUDA_ERROR_NOT_READY;
  };
  const auto first = std::partition(uses_.begin(), uses_.end(), [&](const use& u) { return !is_finished(u); });
  finished.assign(first, uses_.end());
  uses_.erase(first, uses_.end());
  return finished;
}

// With the lock, so that a stream is home for exactly as long as it has an entry. Operations look without it: one on a
// later stream of the same handle comes after the driver gave the handle out again, and so after the move out.
void use_list::move_in(CUstream stream, std::span<CUstream> homes) noexcept {
  for (CUstream& home : homes) {
    const std::atomic_ref place{home};
    const CUstream before = place.exchange(stream, std::memory_order_relaxed);
    if (before == stream) return;
    stream = before;
  }
}

void use_list::move_out(const std::vector<use>& finished, std::span<CUstream> homes) noexcept {
  for (CUstream& home : homes) {
    const std::atomic_ref place{home};
    const CUstream now = place.load(std::memory_order_relaxed);
    if (std::ranges::find(finished, now, [](const use& u) { return u.where.stream; }) != finished.end()) {
      place.store(closed_handle<CUstream_st>(), std::memory_order_relaxed);
    }
  }
}

bool use_list::note(CUstream stream, std::span<CUstream> homes, call_site at) {
  const place where = place_of(stream, at);
  std::vector<use> finished;
  enum class entry : unsigned char { none, marked, holds };
  const entry there = [&] {
    const std::lock_guard lock{lock_};
    if (const use* const found = find(where)) {
      if (found->state == nullptr) return entry::marked;
      move_in(stream, homes);
      return entry::holds;
    }
    if (is_default(stream)) return entry::none;
    if (uses_.size() == uses_.capacity()) {
      finished = take_finished(at);
      move_out(finished, homes);
      if (finished.empty()) uses_.reserve(2 * uses_.size() + 4);
    }
    stream_state* const state = hold_stream(stream, share::watcher);
    if (state == nullptr) return entry::none;
    uses_.push_back({where, state, nullptr});
    move_in(stream, homes);
    return entry::holds;
  }();
  for (const use& u : finished) u.state->drop(share::watcher);
  if (there != entry::none) return there == entry::holds;
  // No lock while the driver makes an event. Two threads may make one for the same stream; one entry too many does no
  // harm.
  const CUevent event = make_event(stream, at);
  try {
    const std::lock_guard lock{lock_};
    uses_.push_back({where, nullptr, event});
  } catch (...) {
    check_unraised(driver().cuEventDestroy_v2(event), "cuEventDestroy", event_ref{event});
    throw;
  }
  return false;
}

void use_list::mark(CUstream stream, call_site at) {
  const place where = place_of(stream, at);
  CUevent event = nullptr;
  {
    const std::lock_guard lock{lock_};
    const use* const found = find(where);
    if (found == nullptr || found->event == nullptr) return;
    event = found->event;
  }
  // A captured operation is not work yet, and an event that is recorded in a capture can be asked nothing.
  if (is_captured(stream)) return;
  const CUresult answer = driver().cuEventRecord(event, stream);
  if (answer == CUDA_SUCCESS) [[likely]] {
    return;
  }
  // The work is queued already, so the operation has succeeded; what cannot be marked has to be done.
  first_failure unheard;
  const relaxed_captures unharmed{unheard};
  if (driver().cuStreamSynchronize(stream) != CUDA_SUCCESS) check(answer, "cuEventRecord", stream_ref{stream}, at);
}

void use_list::make_wait(CUstream waiter, first_failure& failure) noexcept {
  for (const use& u : uses_) {
    const CUevent event = u.state != nullptr ? record_kept_event(u.where.stream, failure) : u.event;
    if (event == nullptr) continue;
    failure.note(driver().cuStreamWaitEvent(waiter, event, CU_EVENT_WAIT_DEFAULT), "cuStreamWaitEvent");
  }
}

void use_list::sync(first_failure& failure) noexcept {
  for (const use& u : uses_) {
    if (u.event != nullptr) {
      failure.note(driver().cuEventSynchronize(u.event), "cuEventSynchronize");
    } else {
      failure.note(driver().cuStreamSynchronize(u.where.stream), "cuStreamSynchronize");
    }
  }
}

bool use_list::in_capture() const noexcept {
  return std::ranges::any_of(uses_, [](const use& u) { return u.state != nullptr && is_captured(u.where.stream); });
}

CUstream use_list::capturing() const noexcept {
  const auto captures = [](const use& u) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return u.state != nullptr && driver().cuStreamIsCapturing(u.where.stream, &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
  };
  const auto found = std::ranges::find_if(uses_, captures);
  return found != uses_.end() ? found->where.stream : nullptr;
}

bool use_list::differs_in_capture(bool captured) const noexcept {
  return std::ranges::any_of(
      uses_, [&](const use& u) { return (u.state != nullptr && is_captured(u.where.stream)) != captured; });
}

void use_list::freeze(first_failure& failure) noexcept {
  for (use& u : uses_) {
    if (u.state == nullptr) continue;
    try {
      u.event = make_event(u.where.stream, call_site{});
    } catch (...) {
      failure.note_exception("cuEventCreate");
      continue;  // the stream itself has to be asked then
    }
    if (const CUresult answer = driver().cuEventRecord(u.event, u.where.stream); answer != CUDA_SUCCESS) {
      failure.note(answer, "cuEventRecord");
      failure.note(driver().cuEventDestroy_v2(std::exchange(u.event, nullptr)), "cuEventDestroy");
      continue;
    }
    std::exchange(u.state, nullptr)->drop(share::watcher);
  }
}

bool use_list::freeze_unless_captured(first_failure& failure) noexcept {
  const capture_begin_lock alone;
  if (in_capture()) return false;
  freeze(failure);
  return true;
}

bool use_list::done() const noexcept {
  return std::ranges::none_of(uses_, [](const use& u) {
    const CUresult answer =
        u.event != nullptr ? driver().cuEventQuery(u.event) : driver().cuStreamQuery(u.where.stream);
    return answer == CUDA_ERROR_NOT_READY;
  });
}

}  // namespace weir::detail
