// model/event.cpp - recording points, asking for them, and the time between two.
#include "embedded/model/event.hpp"

#include <chrono>
#include <mutex>

#include "embedded/engine/waiting.hpp"
#include "embedded/model/context.hpp"
#include "embedded/model/pool_registry.hpp"
#include "embedded/model/stream.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

// Notes the time, if the record that asked for it is still the last one.
struct event::stamp {
  event* of;
  std::uint64_t number;

  void run() const noexcept {
    const std::int64_t now = now_ns();
    const std::lock_guard lock{of->mutex_};
    if (of->record_number_ == number) of->stamp_ns_ = now;
  }
};

void event::begin(context& in, unsigned flags) noexcept {
  const std::lock_guard lock{mutex_};
  context_.store(&in, std::memory_order_relaxed);
  flags_ = flags;
  capture_id_.store(0, std::memory_order_relaxed);
  point_ = {};
  recorded_ = false;
  ++record_number_;
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
  const std::lock_guard lock{mutex_};
  ++record_number_;
}

void event::end(context& of) noexcept {
  if (shared()) shared_->end();
  const std::lock_guard lock{mutex_};
  ++record_number_;
  point_ = {};
  context_.store(&of, std::memory_order_relaxed);
}

CUresult event::tell(CUipcEventHandle& out) const noexcept {
  if (!shared() || !shared_->made_here()) return CUDA_ERROR_INVALID_HANDLE;
  shared_->tell(out);
  return CUDA_SUCCESS;
}

// The event is not locked while it submits: a deterministic schedule may run the stamp right there.
CUresult event::record(stream& on) {
  if (&on.owner().base() != &owner()) return CUDA_ERROR_INVALID_HANDLE;
  if (shared()) return record_shared(on);
  if (!timed()) {
    const engine::point at = on.record();
    const std::lock_guard lock{mutex_};
    take(at);
    return CUDA_SUCCESS;
  }
  engine::operation stamping = stamp_for_next_record();
  const std::uint64_t number = stamping.as<stamp>().number;
  engine::point at;
  const bool later = on.record_with(stamping, at);
  if (!later) stamping.body(stamping);
  const std::lock_guard lock{mutex_};
  if (record_number_ != number) return CUDA_SUCCESS;  // another thread's record came after
  take(at);
  return CUDA_SUCCESS;
}

// Records complete in their order, whichever streams and processes they are made in: a stream waits for the one before.
CUresult event::record_shared(stream& on) {
  const engine::point before = shared_->latest();
  std::uint32_t ticket = 0;
  engine::operation completing = shared_->begin_record(ticket);
  engine::point at;
  try {
    on.wait(before);
    if (!on.record_with(completing, at)) completing.body(completing);
  } catch (...) {
    completing.body(completing);  // others may wait for the ticket already
    throw;
  }
  shared_->took(ticket, at);
  const std::lock_guard lock{mutex_};
  take(at);
  return CUDA_SUCCESS;
}

engine::operation event::stamp_for_next_record() noexcept {
  const std::lock_guard lock{mutex_};
  if (shared()) return shared_->begin_record(ticket_);
  return engine::make_operation(stamp{this, ++record_number_}, engine::operation_kind::work, true);
}

void event::record_at(engine::point at) noexcept {
  const std::lock_guard lock{mutex_};
  if (shared()) shared_->took(ticket_, at);
  take(at);
}

void event::take(engine::point at) noexcept {
  point_ = at;
  recorded_ = true;
  if (capture_id() != 0) set_capture_id(0);
}

bool event::recorded() const noexcept {
  if (shared()) return shared_->recorded();
  const std::lock_guard lock{mutex_};
  return recorded_;
}

engine::point event::recorded_point() const {
  if (shared()) return shared_->latest();
  const std::lock_guard lock{mutex_};
  return point_;
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
  struct reading {
    bool usable;
    bool reached;
    std::int64_t ns;
  };
  const auto read = [](const event& e) {
    const std::lock_guard lock{e.mutex_};
    return reading{e.recorded_ && e.timed(), e.point_.reached(), e.stamp_ns_};
  };
  const reading first = read(from);
  const reading second = read(to);
  if (!first.usable || !second.usable || &from.owner() != &to.owner()) return CUDA_ERROR_INVALID_HANDLE;
  if (!first.reached || !second.reached) return CUDA_ERROR_NOT_READY;
  milliseconds = static_cast<float>(static_cast<double>(second.ns - first.ns) / 1e6);
  return CUDA_SUCCESS;
}

}  // namespace weir::embedded::model
