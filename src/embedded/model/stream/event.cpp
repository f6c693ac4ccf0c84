// SPDX-License-Identifier: Apache-2.0
// model/stream/event.cpp - recording events, querying them, and elapsed times.
#include "embedded/model/stream/event.hpp"

#include <mutex>

#include "embedded/engine/waiting.hpp"
#include "embedded/model/core/context.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"
#include "embedded/model/stream/stream.hpp"
#include "os/clock.hpp"

namespace weir::embedded::model {

using namespace abi;
using engine::biased_lock;
using engine::seqlock;
using engine::timeline;

// An operation that stores the time of a record, unless a record with a higher number has stored
// its time already.
struct event::write_timestamp {
  event* recorded_event;
  std::uint64_t record_number;

  void run() const noexcept {
    const std::int64_t now = weir::os::steady_nanoseconds();
    const std::lock_guard lock{recorded_event->completion_time_lock_};
    seqlock<completion_time>& stored = recorded_event->completion_time_;
    if (stored.load().number < record_number) stored.store({record_number, now});
  }
};

void event::begin_lifetime(context& owner_context, unsigned flags) noexcept {
  record_lock_.reset_bias();
  context_.store(&owner_context, std::memory_order_relaxed);
  flags_ = flags;
  ended_ = false;
  capture_id_.store(0, std::memory_order_relaxed);
  const biased_lock::section lock{record_lock_};
  latest_record none{};
  none.number = ++last_number_;
  latest_.store(none);
}

CUresult event::open(context& owner_context, unsigned flags) {
  if ((flags & CU_EVENT_INTERPROCESS) != 0) {
    if (!shared_) shared_ = std::make_unique<shared_event>();
    if (const CUresult error = shared_->make()) return error;
  }
  begin_lifetime(owner_context, flags);
  return CUDA_SUCCESS;
}

CUresult event::open(context& owner_context, const CUipcEventHandle& handle) {
  if (!shared_) shared_ = std::make_unique<shared_event>();
  if (const CUresult error = shared_->open(handle)) return error;
  begin_lifetime(owner_context, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
  return CUDA_SUCCESS;
}

void event::close() noexcept {
  if (shared()) shared_->end();
}

void event::end(context& dead_context) noexcept {
  ended_ = true;
  if (shared()) shared_->end();
  const biased_lock::section lock{record_lock_};
  latest_record last = latest_.load();
  last.end_point = {};
  last.number = ++last_number_;
  latest_.store(last);
  context_.store(&dead_context, std::memory_order_relaxed);
}

// Only the thread that retires the handle closes the event. If the event ended with its context,
// the handle stays valid, and the call returns the context's error.
CUresult event::destroy(event& found, const void* handle) noexcept {
  auto& events = this_process().events;
  if (!events.retire(&found, handle)) return CUDA_ERROR_INVALID_HANDLE;
  if (found.ended_) {
    events.restore(&found, handle);
    return found.owner().status();
  }
  found.close();
  events.recycle(&found);
  return CUDA_SUCCESS;
}

CUresult event::get_ipc_handle(CUipcEventHandle& out) const noexcept {
  if (!shared() || !shared_->is_local()) return CUDA_ERROR_INVALID_HANDLE;
  shared_->get_ipc_handle(out);
  return CUDA_SUCCESS;
}

CUresult event::record(stream& target_stream) {
  if (&target_stream.owner().base() != &owner()) return CUDA_ERROR_INVALID_HANDLE;
  if (shared() || timed()) {
    target_stream.submit_many([&](timeline::submission& pending) {
      record_in(pending);
      pending.mark_recorded();
    });
  } else {
    store_untimed(target_stream.record());
  }
  return CUDA_SUCCESS;
}

// No other thread can record in this stream during the submission, so the numbers of records follow
// the stream's order. If two streams record the event concurrently, the record with the higher
// number is the last one. For a timed event, the time is needed too. If all earlier work of the
// stream is complete, this function reads the clock; otherwise an operation does.
void event::record_in(timeline::submission& pending) {
  if (shared()) return store_untimed(shared_->record_in(pending));
  if (!timed()) return store_untimed(pending.end());
  pending.make_room(1);
  const biased_lock::section lock{record_lock_};
  std::int64_t host_ns = 0;
  if (pending.end().reached()) {
    host_ns = weir::os::steady_nanoseconds();
  } else {
    pending.add(engine::make_unconditional_operation(write_timestamp{this, last_number_ + 1}));
  }
  store_latest(pending.end(), host_ns);
}

void event::store_untimed(engine::point recorded) noexcept {
  const biased_lock::section lock{record_lock_};
  store_latest(recorded, 0);
}

void event::store_latest(engine::point recorded, std::int64_t host_ns) noexcept {
  latest_.store({recorded, ++last_number_, true, host_ns});
  if (capture_id() != 0) set_capture_id(0);
}

bool event::recorded() const noexcept {
  return shared() ? shared_->recorded() : latest_.load().recorded;
}

engine::point event::recorded_point() const {
  return shared() ? shared_->latest() : latest_.load().end_point;
}

CUresult event::query() const {
  const bool complete = shared() ? shared_->complete() : recorded_point().reached();
  return complete ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult event::synchronize() const {
  engine::wait_for_host(recorded_point());
  pool_registry::after_synchronize();
  return engine::device_failure();
}

CUresult event::elapsed(const event& start, const event& end, float& milliseconds) noexcept {
  const latest_record first = start.latest_.load();
  const latest_record second = end.latest_.load();
  const bool usable = first.recorded && second.recorded && start.timed() && end.timed();
  if (!usable || &start.owner() != &end.owner()) return CUDA_ERROR_INVALID_HANDLE;
  if (!first.end_point.reached() || !second.end_point.reached()) return CUDA_ERROR_NOT_READY;
  const auto time_ns = [](const event& timed_event, const latest_record& latest) {
    return latest.host_ns != 0 ? latest.host_ns : timed_event.completion_time_.load().ns;
  };
  const std::int64_t elapsed_ns = time_ns(end, second) - time_ns(start, first);
  milliseconds = static_cast<float>(static_cast<double>(elapsed_ns) / 1e6);
  return CUDA_SUCCESS;
}

}  // namespace weir::embedded::model
