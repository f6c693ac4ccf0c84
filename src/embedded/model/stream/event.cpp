// model/event.cpp - recording points, asking for them, and the time between two.
#include "embedded/model/stream/event.hpp"

#include <chrono>
#include <mutex>

#include "embedded/engine/waiting.hpp"
#include "embedded/model/core/context.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"
#include "embedded/model/stream/stream.hpp"

namespace weir::embedded::model {

using namespace abi;
using engine::biased_lock;
using engine::timeline;

namespace {

std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

// Notes the time, unless a later record was faster.
struct event::write_timestamp {
  event* of;
  std::uint64_t number;

  void run() const noexcept {
    const std::int64_t now = now_ns();
    const std::lock_guard lock{of->completion_time_lock_};
    if (of->completion_time_.load().number < number) of->completion_time_.store({number, now});
  }
};

void event::begin(context& in, unsigned flags) noexcept {
  record_lock_.reset_bias();
  context_.store(&in, std::memory_order_relaxed);
  flags_ = flags;
  ended_ = false;
  capture_id_.store(0, std::memory_order_relaxed);
  const biased_lock::section alone{record_lock_};
  latest_record none{};
  none.number = ++last_number_;
  latest_.store(none);
}

CUresult event::open(context& in, unsigned flags) {
  if ((flags & CU_EVENT_INTERPROCESS) != 0) {
    if (!shared_) shared_ = std::make_unique<shared_event>();
    if (const CUresult status = shared_->make(); status != CUDA_SUCCESS) return status;
  }
  begin(in, flags);
  return CUDA_SUCCESS;
}

CUresult event::open(context& in, const CUipcEventHandle& handle) {
  if (!shared_) shared_ = std::make_unique<shared_event>();
  if (const CUresult status = shared_->open(handle); status != CUDA_SUCCESS) return status;
  begin(in, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
  return CUDA_SUCCESS;
}

void event::close() noexcept {
  if (shared()) shared_->end();
  const biased_lock::section alone{record_lock_};
  ++last_number_;  // a record that is just being made comes too late
}

void event::end(context& of) noexcept {
  ended_ = true;
  if (shared()) shared_->end();
  const biased_lock::section alone{record_lock_};
  latest_record last = latest_.load();
  last.at = {};
  last.number = ++last_number_;
  latest_.store(last);
  context_.store(&of, std::memory_order_relaxed);
}

// As stream::destroy().
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

CUresult event::record(stream& on) {
  if (&on.owner().base() != &owner()) return CUDA_ERROR_INVALID_HANDLE;
  if (shared() || timed()) {
    on.submit_many([&](timeline::submission& to) {
      record_in(to);
      to.mark_recorded();
    });
  } else {
    set_next_latest(on.record());
  }
  return CUDA_SUCCESS;
}

// The submission keeps others from the stream, so that records have the numbers that they come to
// there; and of records in two streams at once the one that has the later number counts.
void event::record_in(timeline::submission& to) {
  if (shared()) {
    set_next_latest(shared_->record_in(to));
  } else if (timed()) {
    to.make_room();
    const biased_lock::section alone{record_lock_};
    const std::uint64_t number = ++last_number_;
    const bool at_once = to.end().reached();
    if (!at_once)
      to.add(engine::make_operation(write_timestamp{this, number}, engine::operation_kind::work,
                                    true));
    set_latest(to.end(), number, at_once ? now_ns() : 0);
  } else {
    set_next_latest(to.end());
  }
}

void event::set_next_latest(engine::point at) noexcept {
  const biased_lock::section alone{record_lock_};
  set_latest(at, ++last_number_, 0);
}

void event::set_latest(engine::point at, std::uint64_t number, std::int64_t host_ns) noexcept {
  latest_.store({at, number, true, host_ns != 0, host_ns});
  if (capture_id() != 0) set_capture_id(0);
}

bool event::recorded() const noexcept {
  return shared() ? shared_->recorded() : latest_.load().recorded;
}

engine::point event::recorded_point() const {
  return shared() ? shared_->latest() : latest_.load().at;
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

CUresult event::elapsed(const event& from, const event& to, float& milliseconds) noexcept {
  const latest_record first = from.latest_.load();
  const latest_record second = to.latest_.load();
  const bool usable = first.recorded && second.recorded && from.timed() && to.timed();
  if (!usable || &from.owner() != &to.owner()) return CUDA_ERROR_INVALID_HANDLE;
  if (!first.at.reached() || !second.at.reached()) return CUDA_ERROR_NOT_READY;
  const auto ns = [](const event& e, const latest_record& last) {
    return last.timed_on_host ? last.ns : e.completion_time_.load().ns;
  };
  milliseconds = static_cast<float>(static_cast<double>(ns(to, second) - ns(from, first)) / 1e6);
  return CUDA_SUCCESS;
}

}  // namespace weir::embedded::model
