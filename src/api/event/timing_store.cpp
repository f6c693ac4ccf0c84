// SPDX-License-Identifier: Apache-2.0
// api/event/timing_store.cpp - accumulates measurements when their events are done.
#include "api/event/timing_store.hpp"

#include "api/capture/relaxed_capture_guard.hpp"
#include "api/core/check.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/device/green_state.hpp"
#include "driver/event_pool.hpp"
#include "os/forked_child.hpp"

#include <weir/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <utility>

namespace weir::detail {

// Returns all events to the pool. Events of a destroyed context are never taken from there again,
// because no later context gets its id.
timing_store::~timing_store() {
  pending_.clear();  // returns the events before their green context may end
  for (const context_record& record : contexts_) {
    if (record.green != nullptr) record.green->release_noexcept();
  }
}

// Adds a reference to the green context, unless the store has one.
void timing_store::keep_alive(CUcontext context, unsigned long long context_id) {
  const std::lock_guard lock{lock_};
  if (std::ranges::find(contexts_, context_id, &context_record::id) != contexts_.end()) return;
  contexts_.reserve(contexts_.size() + 1);
  contexts_.push_back({context_id, acquire_green_state(context)});
}

std::shared_ptr<timing_store> make_timing_store() {
  const auto destroy = [](timing_store* store) noexcept {
    destroy_or_defer([store] { delete store; });
  };
  return {new timing_store, destroy};
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

// Adds complete measurements among the oldest ones to the timings and makes their events available.
// Without this, a program that rarely reads its timings would create two events per section. Those
// that are not complete move to the end of the list, so that a stream that is held does not hide
// the measurements of other streams. A failed measurement stays in the list, and collect() throws
// its failure.
void timing_store::accumulate_oldest(call_site at) {
  constexpr std::size_t max_looks = 4;
  const std::lock_guard lock{lock_};
  if (pending_.empty()) return;
  const relaxed_capture_mode allowed{at};
  for (std::size_t looks = std::min(max_looks, pending_.size()); looks > 0; --looks) {
    const measurement oldest = pending_.front()->value;
    float milliseconds = 0;
    if (driver().cuEventQuery(oldest.end) == CUDA_SUCCESS &&
        driver().cuEventElapsedTime(&milliseconds, oldest.start, oldest.end) == CUDA_SUCCESS) {
      accumulate_and_erase(pending_.begin(), milliseconds);
    } else {
      pending_.push_back(pending_.front());
      pending_.pop_front();
    }
  }
}

CUevent timing_store::acquire_event(CUcontext context, unsigned long long context_id,
                                    call_site at) {
  keep_alive(context, context_id);
  event_pool& pool = event_pool::timed();
  if (const CUevent unused = pool.take(context_id)) return unused;
  accumulate_oldest(at);
  CUevent event = nullptr;
  const driver_result acquired = pool.acquire(context, context_id, event);
  if (acquired.code != errc::success)
    throw_driver_error(acquired.code, acquired.call, subject{context}, at);
  return event;
}

void timing_store::release_event(unsigned long long context_id, CUevent event) noexcept {
  // At the fork another thread, which does not exist in the child, may have held the pool's lock.
  if (!os::in_forked_child()) event_pool::timed().keep(context_id, {&event, 1});
}

timing_store::pending_measurement::~pending_measurement() {
  if (value.start == nullptr) return;
  release_event(value.context_id, value.start);
  release_event(value.context_id, value.end);
}

void timing_store::add(const measurement& added) {
  const auto stored = std::make_shared<pending_measurement>();
  const std::lock_guard lock{lock_};
  pending_.push_back(stored);
  stored->value = added;
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

timing_store::pending_list::iterator timing_store::accumulate_and_erase(
    pending_list::iterator measured, float milliseconds) noexcept {
  measurement& complete = (*measured)->value;
  --timings_[complete.name].pending;
  accumulate(complete, milliseconds);
  // Otherwise a thread in sync() still uses the end, and the destructor keeps the events.
  if (measured->use_count() == 1) {
    const CUevent events[] = {complete.start, complete.end};
    event_pool::timed().release(complete.context_id, events);
    complete.start = nullptr;
  }
  return pending_.erase(measured);
}

// Checks all measurements, because measurements of different streams complete in any order.
void timing_store::collect(call_site at) {
  const relaxed_capture_mode allowed{at};
  const std::lock_guard lock{lock_};
  for (auto measured = pending_.begin(); measured != pending_.end();) {
    const measurement done = (*measured)->value;
    CUresult answer = driver().cuEventQuery(done.end);
    if (answer == CUDA_ERROR_NOT_READY) {
      ++measured;
      continue;
    }
    const char* call = "cuEventQuery";
    float milliseconds = 0;
    if (answer == CUDA_SUCCESS) {
      call = "cuEventElapsedTime";
      answer = driver().cuEventElapsedTime(&milliseconds, done.start, done.end);
    }
    if (answer == CUDA_SUCCESS) {
      measured = accumulate_and_erase(measured, milliseconds);
      continue;
    }
    measured = pending_.erase(measured);
    --timings_[done.name].pending;
    check(answer, call, event_ref{done.end}, at);
  }
}

void timing_store::sync(call_site at) {
  for (;;) {
    std::shared_ptr<const pending_measurement> next;
    {
      const std::lock_guard lock{lock_};
      if (pending_.empty()) return;
      next = pending_.front();
    }
    // If the measurement has failed, collect() removes it and throws its failure. If the wait was
    // refused, for example in a host function, the failure of the wait is thrown and the
    // measurement remains.
    std::exception_ptr failure;
    try {
      event_ref{next->value.end}.sync(at);
    } catch (const error&) {
      failure = std::current_exception();
    }
    next.reset();  // so that collect() may destroy its events
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
  pending_.clear();
  for (timing& t : timings_) t = {.name = std::move(t.name)};
  std::ranges::fill(last_, 0ull);
}

}  // namespace weir::detail
