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
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
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

void event::open(context& in, unsigned flags) noexcept {
  const std::lock_guard lock{mutex_};
  context_ = &in;
  flags_ = flags;
  point_ = {};
  recorded_ = false;
  ++record_number_;
}

void event::close() noexcept {
  const std::lock_guard lock{mutex_};
  ++record_number_;
}

// The event is not locked while it submits: a deterministic schedule may run the stamp right there.
CUresult event::record(stream& on) {
  if (&on.owner() != context_) return CUDA_ERROR_INVALID_HANDLE;
  if (!timed()) {
    const engine::point at = on.record();
    const std::lock_guard lock{mutex_};
    point_ = at;
    recorded_ = true;
    return CUDA_SUCCESS;
  }
  stamp reached{this, 0};
  {
    const std::lock_guard lock{mutex_};
    reached.number = ++record_number_;
  }
  engine::point at;
  const bool later = on.record_with(engine::make_operation(reached, engine::operation_kind::work, true), at);
  if (!later) reached.run();
  const std::lock_guard lock{mutex_};
  if (record_number_ != reached.number) return CUDA_SUCCESS;  // another thread's record came after
  point_ = at;
  recorded_ = true;
  return CUDA_SUCCESS;
}

engine::point event::recorded_point() const noexcept {
  const std::lock_guard lock{mutex_};
  return point_;
}

CUresult event::query() const noexcept {
  return recorded_point().reached() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult event::synchronize() const {
  engine::wait(recorded_point());
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
  if (!first.usable || !second.usable || from.context_ != to.context_) return CUDA_ERROR_INVALID_HANDLE;
  if (!first.reached || !second.reached) return CUDA_ERROR_NOT_READY;
  milliseconds = static_cast<float>(static_cast<double>(second.ns - first.ns) / 1e6);
  return CUDA_SUCCESS;
}

}  // namespace weir::embedded::model
