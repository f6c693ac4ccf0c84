// reactor/completion_queue_polling.cpp - points asked about, and settled.
#include "driver/active_captures.hpp"
#include "reactor/completion_queue.hpp"
#include "reactor/reactor.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace weir::detail {
namespace {

CUevent to_event(std::uint64_t value) noexcept {
  return reinterpret_cast<CUevent>(static_cast<std::uintptr_t>(value));
}

// The thread may capture, or somebody else may, in a mode that holds this question to be unsafe. In
// captures that were begun directly through the driver the driver's own answer stands.
class relaxed_capture_guard {
 public:
  explicit relaxed_capture_guard(const driver_table& calls) noexcept : calls_{calls} {
    if (active_capture_count.load(std::memory_order_relaxed) == 0) [[likely]] {
      return;
    }
    exchanged_ = calls_.cuThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS;
  }
  relaxed_capture_guard(const relaxed_capture_guard&) = delete;
  relaxed_capture_guard& operator=(const relaxed_capture_guard&) = delete;
  ~relaxed_capture_guard() {
    if (exchanged_) static_cast<void>(calls_.cuThreadExchangeStreamCaptureMode(&mode_));
  }

 private:
  const driver_table& calls_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  bool exchanged_ = false;
};

// What a driver answers where a capture somewhere forbids the question: nothing about the work.
bool is_capture_error(CUresult answer) noexcept {
  return answer == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED ||
         answer == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
         answer == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

}  // namespace

errc completion_queue::known_status(std::uint64_t ticket) const noexcept {
  if (ticket < completed_.load(std::memory_order_acquire)) return errc::success;
  const errc failure = failure_.load(std::memory_order_acquire);
  if (failure == errc::success) return errc::not_ready;
  return ticket < completed_.load(std::memory_order_acquire) ? errc::success : failure;
}

errc completion_queue::query_point(std::uint64_t value) const noexcept {
  if (const engine_services* const engine = services()) {
    if (const CUresult health = engine->context_status(work_context_); health != CUDA_SUCCESS)
      return static_cast<errc>(health);
    return engine->reached({line_, value}) ? errc::success : errc::not_ready;
  }
  const driver_table& calls = *table_in_use.load(std::memory_order_acquire);
  const relaxed_capture_guard guard{calls};
  const CUresult answer = calls.cuEventQuery(to_event(value));
  return is_capture_error(answer) ? errc::not_ready : static_cast<errc>(answer);
}

errc completion_queue::query(std::uint64_t ticket) noexcept {
  if (const errc outcome = known_status(ticket); outcome != errc::not_ready) return outcome;
  return query_locked(ticket, std::unique_lock{polling_});
}

errc completion_queue::try_query(std::uint64_t ticket) noexcept {
  if (const errc outcome = known_status(ticket); outcome != errc::not_ready) return outcome;
  std::unique_lock lock{polling_, std::try_to_lock};
  return lock.owns_lock() ? query_locked(ticket, std::move(lock)) : known_status(ticket);
}

errc completion_queue::query_locked(std::uint64_t ticket,
                                    std::unique_lock<spin_lock> lock) noexcept {
  std::uint64_t value = 0;
  {
    const std::lock_guard hold{ring_lock_};
    if (ring_.contains(ticket)) value = ring_[ticket].value;
  }
  if (value == 0) return known_status(ticket);
  const errc answer = query_point(value);
  if (answer == errc::not_ready) return answer;
  waiter_list due;
  if (answer != errc::success) {
    fail(answer, due);
  } else {
    const std::lock_guard hold{ring_lock_};
    complete_through(ticket, due);
  }
  lock.unlock();
  owner().deliver(due, caller_kind::other);
  reclaim();
  return known_status(ticket);
}

// One that was pending the last time is asked about again without a look at the ring: that belongs
// to those who make points. If somebody waits for it still it is there still, as only who holds
// polling_ takes points away. Where a later one is asked about and pending, the oldest may be done.
void completion_queue::poll(waiter_list& due) noexcept {
  const std::unique_lock lock{polling_, std::try_to_lock};
  if (!lock.owns_lock()) return;
  if (services() != nullptr) {
    complete_reached(due);
    return;
  }
  for (bool again = true; again;) {
    const std::uint64_t oldest = first_awaited_.load(std::memory_order_relaxed);
    if (pending_.ticket != oldest) {
      const std::lock_guard hold{ring_lock_};
      if (first_awaited_ == none) return;
      pending_.ticket = std::min(first_awaited_ + stride_, ring_.end() - 1);
      pending_.value = ring_[pending_.ticket].value;
    }
    again = false;
    const errc answer = query_point(pending_.value);
    if (answer == errc::not_ready) {
      again = std::exchange(stride_, 0) != 0 && pending_.ticket != oldest;
    } else if (answer != errc::success) {
      fail(answer, due);
    } else {
      const std::lock_guard hold{ring_lock_};
      complete_through(pending_.ticket, due);
      stride_ = std::min(2 * stride_ + 1, ring_.size());
    }
  }
}

void completion_queue::take_waiters(pending_point& point, errc outcome, waiter_list& due) noexcept {
  for (completion_waiter* waiter = point.first_waiter; waiter != nullptr;) {
    completion_waiter* const next = waiter->next;
    count_waiter(*waiter, -1);
    waiter->outcome = outcome;
    due.append(*waiter);
    waiter = next;
  }
}

// The room that a point had is room for its event: add_event_point() has seen to that. Before the
// reactor's thread is told that nobody needs it, it has to find that nobody waits here.
void completion_queue::complete_through(std::uint64_t ticket, waiter_list& due) noexcept {
  if (first_awaited_ <= ticket) find_first_awaited(ticket + 1);
  for (std::uint64_t ticket_at = ring_.begin(); ticket_at <= ticket; ++ticket_at) {
    take_waiters(ring_[ticket_at], errc::success, due);
    if (owns_events()) free_.push_back(to_event(ring_[ticket_at].value));
  }
  ring_.pop_through(ticket);
  completed_.store(ticket + 1, std::memory_order_release);
}

void completion_queue::fail(errc outcome, waiter_list& due) noexcept {
  const std::lock_guard hold{ring_lock_};
  failure_.store(outcome, std::memory_order_release);
  first_awaited_ = none;
  for (std::uint64_t ticket_at = ring_.begin(); ticket_at < ring_.end(); ++ticket_at) {
    take_waiters(ring_[ticket_at], outcome, due);
    if (owns_events()) free_.push_back(to_event(ring_[ticket_at].value));
  }
  ring_.pop_through(ring_.end() - 1);
}

}  // namespace weir::detail
