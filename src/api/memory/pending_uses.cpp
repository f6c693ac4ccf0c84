// SPDX-License-Identifier: Apache-2.0
// api/memory/pending_uses.cpp - the streams in which memory was used, apart from the stream that
// the memory belongs to.
#include "api/memory/pending_uses.hpp"

#include "api/capture/capture_begin.hpp"
#include "api/capture/capture_query.hpp"
#include "api/capture/relaxed_capture_guard.hpp"
#include "api/core/call_restrictions.hpp"
#include "api/core/check.hpp"
#include "api/device/make_current.hpp"
#include "api/stream/host_failures.hpp"
#include "api/stream/thread_event.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace weir::detail {
namespace {

// Creates an event without timing in the stream's context. The event is not taken from the event
// pool, because an entry must count as done until record() is called. An event of the pool may
// still hold an earlier record that is not done.
CUevent make_event(CUstream stream, call_site at) {
  const CUcontext context = context_of(stream, at);
  if (context == nullptr)
    throw_error(errc::invalid_context, "cuEventCreate", stream_ref{stream}, at);
  const make_current current{context, at};
  CUevent event = nullptr;
  check(driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate",
        stream_ref{stream}, at);
  return event;
}

}  // namespace

void pending_uses::end() noexcept {
  const std::lock_guard lock{lock_};
  ended_.store(true, std::memory_order_relaxed);
}

void pending_uses::clear() noexcept {
  for (const use& u : uses_) {
    if (u.state != nullptr) u.state->release_noexcept(stream_holder::observer);
    if (u.event != nullptr)
      report_if_failed(driver().cuEventDestroy_v2(u.event), "cuEventDestroy", event_ref{u.event});
  }
  uses_.clear();
}

pending_uses::stream_key pending_uses::key_of(CUstream stream, call_site at) {
  if (is_legacy(stream)) return {CU_STREAM_LEGACY, current_context_handle(at), 0};
  if (is_default(stream)) return {stream, current_context_handle(at), unique_thread_id()};
  return {stream, nullptr, 0};
}

pending_uses::use* pending_uses::find(const stream_key& key) noexcept {
  const auto found = std::ranges::find(uses_, key, &use::key);
  return found != uses_.end() ? &*found : nullptr;
}

std::vector<pending_uses::use> pending_uses::take_finished(call_site at) {
  std::vector<use> finished;
  if (inside_host_function || os::in_forked_child()) return finished;
  const auto has_no_users = [](const use& u) {
    return u.state != nullptr && !u.state->has_users();
  };
  if (std::ranges::none_of(uses_, has_no_users)) return finished;
  // Allows the queries below although a capture may be open, such as the one that is about to use
  // the memory.
  const relaxed_capture_mode guard{at};
  const auto is_finished = [&](const use& u) {
    return has_no_users(u) && !is_captured(u.key.stream) &&
           driver().cuStreamQuery(u.key.stream) != CUDA_ERROR_NOT_READY;
  };
  const auto first =
      std::partition(uses_.begin(), uses_.end(), [&](const use& u) { return !is_finished(u); });
  finished.assign(first, uses_.end());
  uses_.erase(first, uses_.end());
  return finished;
}

// Inserts the stream at the front of `untracked_streams`. The other streams move back by one place,
// and the last one is removed.
//
// The caller holds lock_, so that every stream in the array has an entry that holds it. Operations
// read the array without the lock. This is safe, because a stream is removed from it before the
// driver can reuse its handle.
void pending_uses::push_front_untracked(CUstream stream,
                                        std::span<CUstream> untracked_streams) noexcept {
  for (CUstream& untracked : untracked_streams) {
    const std::atomic_ref slot{untracked};
    const CUstream displaced = slot.exchange(stream, std::memory_order_relaxed);
    if (displaced == stream) return;
    stream = displaced;
  }
}

void pending_uses::remove_untracked(const std::vector<use>& finished,
                                    std::span<CUstream> untracked_streams) noexcept {
  for (CUstream& untracked : untracked_streams) {
    const std::atomic_ref slot{untracked};
    const CUstream now = slot.load(std::memory_order_relaxed);
    if (std::ranges::find(finished, now, [](const use& u) { return u.key.stream; }) !=
        finished.end()) {
      slot.store(closed_handle<CUstream_st>(), std::memory_order_relaxed);
    }
  }
}

bool pending_uses::register_stream(CUstream stream, std::span<CUstream> untracked_streams,
                                   call_site at) {
  const stream_key key = key_of(stream, at);
  std::vector<use> finished;
  enum class entry : unsigned char { none, has_event, has_stream };
  const entry found_entry = [&] {
    const std::lock_guard lock{lock_};
    if (ended_.load(std::memory_order_relaxed)) return entry::has_stream;
    if (const use* const found = find(key)) {
      if (found->state == nullptr) return entry::has_event;
      push_front_untracked(stream, untracked_streams);
      return entry::has_stream;
    }
    if (is_default(stream)) return entry::none;
    if (uses_.size() == uses_.capacity()) {
      finished = take_finished(at);
      remove_untracked(finished, untracked_streams);
      if (finished.empty()) uses_.reserve(2 * uses_.size() + 4);
    }
    stream_state* const state = acquire_stream_state(stream, stream_holder::observer);
    if (state == nullptr) return entry::none;
    uses_.push_back({key, state, nullptr});
    push_front_untracked(stream, untracked_streams);
    return entry::has_stream;
  }();
  for (const use& u : finished) u.state->release_noexcept(stream_holder::observer);
  if (found_entry != entry::none) return found_entry == entry::has_stream;
  // lock_ is not held while the driver creates an event. Therefore two threads may each add an
  // entry for one stream, which is harmless.
  const CUevent event = make_event(stream, at);
  try {
    const std::lock_guard lock{lock_};
    const bool is_ended = ended_.load(std::memory_order_relaxed);
    if (!is_ended) uses_.push_back({key, nullptr, event});
    if (!is_ended) return false;
  } catch (...) {
    report_if_failed(driver().cuEventDestroy_v2(event), "cuEventDestroy", event_ref{event});
    throw;
  }
  report_if_failed(driver().cuEventDestroy_v2(event), "cuEventDestroy", event_ref{event});
  return true;
}

void pending_uses::record(CUstream stream, call_site at) {
  const stream_key key = key_of(stream, at);
  // Held during the driver call, because the event is destroyed after end().
  const std::lock_guard lock{lock_};
  const use* const found = ended_.load(std::memory_order_relaxed) ? nullptr : find(key);
  if (found == nullptr || found->event == nullptr) return;
  const CUevent event = found->event;
  // A captured operation does not run now, so it is no use of the memory, and an event recorded in
  // a capture cannot be queried.
  if (is_captured(stream)) return;
  const CUresult answer = driver().cuEventRecord(event, stream);
  if (answer == CUDA_SUCCESS) [[likely]] {
    return;
  }
  // The operation is already queued, so the caller must not report it as failed. Because no event
  // could be recorded, waits for it here.
  first_failure ignored;
  const relaxed_capture_mode guard{ignored};
  if (driver().cuStreamSynchronize(stream) != CUDA_SUCCESS)
    check(answer, "cuEventRecord", stream_ref{stream}, at);
}

void pending_uses::make_wait(CUstream waiter, first_failure& failure) noexcept {
  const std::lock_guard lock{lock_};
  const unsigned long long capture = uses_.empty() ? no_capture : capture_of(waiter);
  for (const use& u : uses_) {
    if (capture != no_capture && capture_of_use(u) != capture) continue;
    const CUevent event = u.state != nullptr ? record_thread_event(u.key.stream, failure) : u.event;
    if (event == nullptr) continue;
    failure.note(driver().cuStreamWaitEvent(waiter, event, CU_EVENT_WAIT_DEFAULT),
                 "cuStreamWaitEvent");
  }
}

void pending_uses::sync(first_failure& failure) noexcept {
  for (const use& u : uses_) {
    if (u.event != nullptr) {
      failure.note(driver().cuEventSynchronize(u.event), "cuEventSynchronize");
    } else {
      failure.note(driver().cuStreamSynchronize(u.key.stream), "cuStreamSynchronize");
    }
  }
}

CUstream pending_uses::capturing_stream() const noexcept {
  const auto found = std::ranges::find_if(
      uses_, [](const use& u) { return u.state != nullptr && is_in_capture(u.key.stream); });
  return found != uses_.end() ? found->key.stream : nullptr;
}

unsigned long long pending_uses::capture_of_use(const use& u) noexcept {
  return u.state != nullptr ? capture_of(u.key.stream) : no_capture;
}

bool pending_uses::all_in_capture(unsigned long long id) const noexcept {
  return std::ranges::all_of(uses_, [&](const use& u) { return capture_of_use(u) == id; });
}

void pending_uses::snapshot(first_failure& failure) noexcept {
  for (use& u : uses_) {
    if (u.state == nullptr) continue;
    try {
      u.event = make_event(u.key.stream, call_site{});
    } catch (...) {
      failure.note_exception("cuEventCreate");
      continue;  // done() then queries the stream itself
    }
    if (const CUresult answer = driver().cuEventRecord(u.event, u.key.stream);
        answer != CUDA_SUCCESS) {
      failure.note(answer, "cuEventRecord");
      failure.note(driver().cuEventDestroy_v2(std::exchange(u.event, nullptr)), "cuEventDestroy");
      continue;
    }
    std::exchange(u.state, nullptr)->release_noexcept(stream_holder::observer);
  }
}

bool pending_uses::snapshot_unless_captured(first_failure& failure) noexcept {
  const std::unique_lock<std::mutex> lock = lock_capture_begin();
  // The event of a snapshot would become part of a valid capture, and a query of the event would
  // invalidate the capture. In a stream of an invalidated capture no event can be recorded.
  if (!all_in_capture(no_capture)) return false;
  snapshot(failure);
  return true;
}

bool pending_uses::has_uses() noexcept {
  const std::lock_guard lock{lock_};
  return !uses_.empty();
}

bool pending_uses::are_all_in_capture(unsigned long long id) noexcept {
  const std::lock_guard lock{lock_};
  return all_in_capture(id);
}

bool pending_uses::idle() noexcept {
  const std::unique_lock<std::mutex> no_capture_begins = lock_capture_begin();
  const std::lock_guard lock{lock_};
  if (!all_in_capture(no_capture)) return false;
  first_failure ignored;
  const relaxed_capture_mode guard{ignored};
  return done();
}

bool pending_uses::done() const noexcept {
  return std::ranges::none_of(uses_, [](const use& u) {
    const CUresult answer =
        u.event != nullptr ? driver().cuEventQuery(u.event) : driver().cuStreamQuery(u.key.stream);
    return answer == CUDA_ERROR_NOT_READY;
  });
}

}  // namespace weir::detail
