// api/use_list.cpp - the streams, other than its own, that some memory was used on.
#include "api/use_list.hpp"

#include "api/check.hpp"
#include "api/guard.hpp"
#include "api/host_failures.hpp"
#include "api/kept_event.hpp"
#include "api/make_current.hpp"

#include <algorithm>
#include <utility>

namespace weir::detail {
namespace {

unsigned long long thread_of(CUstream stream) noexcept { return stream == CU_STREAM_PER_THREAD ? thread_number() : 0; }

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

use_list::use* use_list::find(CUstream stream) noexcept {
  const unsigned long long thread = thread_of(stream);
  const auto found =
      std::ranges::find_if(uses_, [&](const use& u) { return u.stream == stream && u.thread == thread; });
  return found != uses_.end() ? &*found : nullptr;
}

std::vector<use_list::use> use_list::take_finished() {
  std::vector<use> finished;
  if (!may_free()) return finished;  // a query would break the capture
  const auto is_finished = [](const use& u) {
    return u.state != nullptr && !u.state->has_users() && driver().cuStreamQuery(u.stream) != CUDA_ERROR_NOT_READY;
  };
  const auto first = std::partition(uses_.begin(), uses_.end(), [&](const use& u) { return !is_finished(u); });
  finished.assign(first, uses_.end());
  uses_.erase(first, uses_.end());
  return finished;
}

bool use_list::note(CUstream stream, call_site at) {
  if (is_legacy(stream)) stream = CU_STREAM_LEGACY;
  std::vector<use> finished;
  enum class entry : unsigned char { none, marked, holds };
  const entry there = [&] {
    const std::lock_guard lock{lock_};
    if (const use* const found = find(stream)) return found->state != nullptr ? entry::holds : entry::marked;
    if (is_default(stream)) return entry::none;
    if (uses_.size() == uses_.capacity()) {
      finished = take_finished();
      if (finished.empty()) uses_.reserve(2 * uses_.size() + 4);
    }
    stream_state* const state = hold_stream(stream, share::watcher);
    if (state == nullptr) return entry::none;
    uses_.push_back({stream, 0, state, nullptr});
    return entry::holds;
  }();
  for (const use& u : finished) u.state->drop(share::watcher);
  if (there != entry::none) return there == entry::holds;
  // No lock while the driver makes an event. Two threads may make one for the same stream; one entry too many does no
  // harm.
  const CUevent event = make_event(stream, at);
  const std::lock_guard lock{lock_};
  uses_.push_back({stream, thread_of(stream), nullptr, event});
  return false;
}

void use_list::mark(CUstream stream, call_site at) {
  if (is_legacy(stream)) stream = CU_STREAM_LEGACY;
  CUevent event = nullptr;
  {
    const std::lock_guard lock{lock_};
    const use* const found = find(stream);
    if (found == nullptr || found->event == nullptr) return;
    event = found->event;
  }
  check(driver().cuEventRecord(event, stream), "cuEventRecord", stream_ref{stream}, at);
}

void use_list::make_wait(CUstream waiter, first_failure& failure) noexcept {
  for (const use& u : uses_) {
    const CUevent event = u.state != nullptr ? record_kept_event(u.stream, failure) : u.event;
    if (event == nullptr) continue;
    failure.note(driver().cuStreamWaitEvent(waiter, event, CU_EVENT_WAIT_DEFAULT), "cuStreamWaitEvent");
  }
}

void use_list::sync(first_failure& failure) noexcept {
  for (const use& u : uses_) {
    if (u.event != nullptr) {
      failure.note(driver().cuEventSynchronize(u.event), "cuEventSynchronize");
    } else {
      failure.note(driver().cuStreamSynchronize(u.stream), "cuStreamSynchronize");
    }
  }
}

void use_list::freeze(first_failure& failure) noexcept {
  for (use& u : uses_) {
    if (u.state == nullptr) continue;
    try {
      u.event = make_event(u.stream, call_site{});
      failure.note(driver().cuEventRecord(u.event, u.stream), "cuEventRecord");
    } catch (...) {
      failure.note_exception("cuEventCreate");
    }
    std::exchange(u.state, nullptr)->drop(share::watcher);
  }
}

bool use_list::done() const noexcept {
  return std::ranges::none_of(
      uses_, [](const use& u) { return u.event != nullptr && driver().cuEventQuery(u.event) == CUDA_ERROR_NOT_READY; });
}

}  // namespace weir::detail
