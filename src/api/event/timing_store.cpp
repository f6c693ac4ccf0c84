// SPDX-License-Identifier: Apache-2.0
// api/event/timing_store.cpp - accumulates measurements when their events are done.
#include "api/event/timing_store.hpp"

#include "api/capture/relaxed_capture_guard.hpp"
#include "api/core/check.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/device/green_state.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"
#include "os/forked_child.hpp"

#include <weir/core/error.hpp>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

namespace weir::detail {
namespace {

// Destroys an event. Ignores the error of an event that no longer exists, because its context was
// reset.
void destroy(CUevent event) noexcept {
  const CUresult answer = driver().cuEventDestroy_v2(event);
  if (answer == CUDA_ERROR_CONTEXT_IS_DESTROYED) forget_reset_contexts();
  if (answer == CUDA_ERROR_CONTEXT_IS_DESTROYED || answer == CUDA_ERROR_INVALID_CONTEXT) return;
  report_if_failed(answer, "cuEventDestroy", event_ref{event});
}

// Destroys an event if `now` is true; otherwise defers that. `now` is the result of
// can_destroy_now().
//
// The destructor of a store determines `now` once for all its events and green contexts. Because
// deferred tasks start in order, a green context is then destroyed after its events.
void destroy_now_or_later(CUevent event, bool now) noexcept {
  if (now) return destroy(event);
  defer_capture_safe([event] { destroy(event); });
}

void release_now_or_later(green_state& state, bool now) noexcept {
  if (now) return state.release_noexcept();
  defer_capture_safe([&state] { state.release_noexcept(); });
}

}  // namespace

timing_store::~timing_store() {
  if (os::in_forked_child()) return;  // the events belong to the parent
  const bool now = can_destroy_now();
  for (const measurement& measured : pending_) {
    if (has_ended(measured.context)) continue;
    destroy_now_or_later(measured.start, now);
    destroy_now_or_later(measured.end, now);
  }
  for (const pooled_event& pooled : events_) {
    if (!has_ended(pooled.context)) destroy_now_or_later(pooled.event, now);
  }
  for (const context_record& record : contexts_) {
    if (record.green != nullptr) release_now_or_later(*record.green, now);
  }
}

bool timing_store::has_ended(unsigned long long context) const noexcept {
  const auto known = std::ranges::find(contexts_, context, &context_record::number);
  if (known == contexts_.end()) return false;
  const device_record* const device = known->primary_of;
  return known->ended ||
         (device != nullptr && device->resets.load(std::memory_order_acquire) != known->resets);
}

// Adds the context to the store unless it is known. Called before an event of the context is
// created.
void timing_store::register_context(CUcontext context, unsigned long long number, call_site at) {
  {
    const std::lock_guard lock{lock_};
    if (std::ranges::find(contexts_, number, &context_record::number) != contexts_.end()) return;
  }
  const context_info info = context_info_of(context, at);
  const device_record* const device =
      info.is_primary ? &record_of(weir::device{info.device}, "", at) : nullptr;
  const std::uint32_t resets =
      device != nullptr ? device->resets.load(std::memory_order_acquire) : 0;
  const std::lock_guard lock{lock_};
  if (std::ranges::find(contexts_, number, &context_record::number) != contexts_.end()) return;
  contexts_.reserve(contexts_.size() + 1);
  for (context_record& earlier : contexts_) earlier.ended |= earlier.handle == context;
  contexts_.push_back({number, context, device, resets, acquire_green_state(context), false});
}

void timing_store::release() noexcept {
  if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

std::size_t timing_store::index_of(std::string_view name) {
  const std::lock_guard lock{lock_};
  const auto found =
      std::ranges::find(timings_, name, [](const timing& t) -> std::string_view { return t.name; });
  const auto number = static_cast<std::size_t>(found - timings_.begin());
  if (found != timings_.end()) return number;
  last_.reserve(number + 1);
  timings_.push_back({.name = std::string{name}});
  last_.push_back(0);
  return number;
}

// If the oldest measurement is complete, adds it to the timings and makes its events available.
// Otherwise a program that rarely reads its timings would create two events per section. A failed
// measurement stays in the list, and collect() throws its failure.
void timing_store::accumulate_oldest() noexcept {
  const measurement& oldest = pending_.front();
  float milliseconds = 0;
  if (driver().cuEventQuery(oldest.end) != CUDA_SUCCESS) return;
  if (driver().cuEventElapsedTime(&milliseconds, oldest.start, oldest.end) != CUDA_SUCCESS) return;
  --timings_[oldest.name].pending;
  recycle(oldest.context, oldest.start);
  recycle(oldest.context, oldest.end);
  accumulate(oldest, milliseconds);
  pending_.pop_front();
}

CUevent timing_store::acquire_event(CUcontext context, unsigned long long number, call_site at) {
  {
    const std::lock_guard lock{lock_};
    const auto known = [&] { return std::ranges::find(events_, number, &pooled_event::context); };
    auto found = known();
    if (found == events_.end() && !pending_.empty()) {
      const relaxed_capture_mode allowed{at};
      accumulate_oldest();
      found = known();
    }
    if (found != events_.end()) {
      const CUevent event = found->event;
      *found = events_.back();
      events_.pop_back();
      return event;
    }
  }
  register_context(context, number, at);
  const make_current current{context, at};
  CUevent event = nullptr;
  check(driver().cuEventCreate(&event, CU_EVENT_DEFAULT), "cuEventCreate", subject{context}, at);
  return event;
}

void timing_store::recycle(unsigned long long context, CUevent event) noexcept {
  try {
    events_.push_back({context, event});
  } catch (const std::bad_alloc&) {
    destroy_now_or_later(event, can_destroy_now());
  }
}

void timing_store::release_event(unsigned long long context, CUevent event) noexcept {
  if (os::in_forked_child()) return;
  const std::lock_guard lock{lock_};
  recycle(context, event);
}

void timing_store::add(const measurement& added) {
  const std::lock_guard lock{lock_};
  pending_.push_back(added);
  ++timings_[added.name].pending;
}

void timing_store::accumulate(const measurement& added, float milliseconds) noexcept {
  timing& t = timings_[added.name];
  const double time = milliseconds;
  t.min = t.count == 0 ? time : std::min(t.min, time);
  t.max = t.count == 0 ? time : std::max(t.max, time);
  t.total += time;
  ++t.count;
  if (added.order >= last_[added.name]) {
    last_[added.name] = added.order;
    t.last = time;
  }
}

// Checks all measurements, because measurements of different streams complete in any order.
void timing_store::collect(call_site at) {
  const relaxed_capture_mode allowed{at};
  const std::lock_guard lock{lock_};
  for (auto measured = pending_.begin(); measured != pending_.end();) {
    CUresult answer = driver().cuEventQuery(measured->end);
    if (answer == CUDA_ERROR_NOT_READY) {
      ++measured;
      continue;
    }
    const char* call = "cuEventQuery";
    float milliseconds = 0;
    if (answer == CUDA_SUCCESS) {
      call = "cuEventElapsedTime";
      answer = driver().cuEventElapsedTime(&milliseconds, measured->start, measured->end);
    }
    const measurement done = *measured;
    measured = pending_.erase(measured);
    --timings_[done.name].pending;
    recycle(done.context, done.start);
    recycle(done.context, done.end);
    check(answer, call, event_ref{done.end}, at);
    accumulate(done, milliseconds);
  }
}

void timing_store::sync(call_site at) {
  for (;;) {
    // During the wait, which does not hold the lock, another thread may reuse the event for a new
    // section. The wait may then be longer than necessary, which is harmless.
    CUevent next = nullptr;
    {
      const std::lock_guard lock{lock_};
      if (pending_.empty()) return;
      next = pending_.front().end;
    }
    // If the measurement has failed, collect() removes it and throws its failure. If the wait was
    // refused, for example in a host function, the failure of the wait is thrown and the
    // measurement remains.
    std::exception_ptr failure;
    try {
      event_ref{next}.sync(at);
    } catch (const error&) {
      failure = std::current_exception();
    }
    collect(at);
    if (failure != nullptr) std::rethrow_exception(failure);
  }
}

std::vector<timing> timing_store::all() {
  const std::lock_guard lock{lock_};
  return timings_;
}

void timing_store::clear() noexcept {
  const std::lock_guard lock{lock_};
  for (const measurement& measured : pending_) {
    recycle(measured.context, measured.start);
    recycle(measured.context, measured.end);
  }
  pending_.clear();
  for (timing& t : timings_) t = {.name = std::move(t.name)};
  std::ranges::fill(last_, 0ull);
}

}  // namespace weir::detail
