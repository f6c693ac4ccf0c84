// SPDX-License-Identifier: Apache-2.0
// reactor/completion_queue.cpp - adds points to a queue, queries and completes them, and recycles
// queues.
#include "reactor/completion_queue.hpp"

#include "driver/active_captures.hpp"
#include "os/futex.hpp"
#include "reactor/completion_queue_pool.hpp"
#include "reactor/reactor.hpp"

#include <weir/detail/closed.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

namespace weir::detail {
namespace {

std::uint64_t to_value(CUevent event) noexcept { return reinterpret_cast<std::uintptr_t>(event); }

CUevent to_event(std::uint64_t value) noexcept {
  return reinterpret_cast<CUevent>(static_cast<std::uintptr_t>(value));
}

// Allows a query while this thread or another one captures in a mode in which queries are unsafe.
// Only captures that were begun through weir are counted; for others the driver's own answer
// stands.
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

// Returns true if a capture forbids the query, so that the answer says nothing about the work.
bool is_capture_error(CUresult answer) noexcept {
  return answer == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED ||
         answer == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
         answer == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

}  // namespace

// The skipped ticket stands for a stream without pending work: it is complete from the beginning.
void completion_queue::attach(const queue_key& key) {
  const std::lock_guard lock{polling_};
  const std::lock_guard hold{ring_lock_};
  key_ = key;
  generation_.fetch_add(1, std::memory_order_relaxed);
  services_.store(active_engine_services(), std::memory_order_relaxed);
  timeline_ = nullptr;
  notice_.reached = &completion_queue::on_reached;
  notice_.queue = this;
  first_of_generation_ = ring_.skip_ticket();
  completed_.store(ring_.begin(), std::memory_order_release);
  is_attached_ = true;
  is_pooled_ = false;
  is_for_event_ = false;
  has_adopted_event_ = false;
}

queue_key completion_queue::key_of(std::uint64_t ticket) const noexcept {
  const std::lock_guard hold{ring_lock_};
  return is_attached_ && ticket >= first_of_generation_ ? key_ : queue_key{};
}

void completion_queue::detach() noexcept {
  {
    const std::lock_guard hold{ring_lock_};
    is_attached_ = false;
  }
  reclaim();
}

bool completion_queue::idle() noexcept {
  std::uint64_t last = 0;
  {
    const std::lock_guard hold{ring_lock_};
    if (ring_.empty()) return !is_recording_;
    last = ring_.end() - 1;
  }
  return try_query(last) != errc::not_ready;
}

void completion_queue::poll_if_abandoned() noexcept {
  std::uint64_t last = 0;
  {
    const std::lock_guard hold{ring_lock_};
    if (is_attached_ || is_in_reactor_ || ring_.empty() || notices_.load() != 0) return;
    last = ring_.end() - 1;
  }
  static_cast<void>(try_query(last));
}

void completion_queue::reclaim() noexcept {
  std::vector<CUevent> unused;
  unsigned long long context = 0;
  bool is_reusable = false;
  bool events_are_good = false;
  {
    const std::lock_guard hold{ring_lock_};
    is_reusable = !is_attached_ && !is_pooled_ && !is_in_reactor_ && notices_.load() == 0 &&
                  ring_.empty() && !is_recording_ && !failed();
    if (is_reusable) is_pooled_ = true;
    events_are_good = !is_for_event_ && !failed();
    if (ring_.empty()) trim_threshold_ = min_trim_threshold;  // a burst may have raised it
    if (ring_.shrink() || is_reusable || failed()) unused.swap(free_);
    context = key_.context_number;
  }
  if (events_are_good) {
    release_events(context, unused);
  } else {
    destroy_events(unused);
  }
  if (is_reusable) release_queue(*this);
}

// Removes completed points that no thread polls for. It runs when twice as many points are pending
// as the last run left, so queries are few compared with points. If the newest point is complete,
// so are all; else bisection finds at least half of those that are.
void completion_queue::trim() noexcept {
  std::uint64_t oldest = 0;
  std::uint64_t polled = 0;
  {
    const std::lock_guard hold{ring_lock_};
    needs_trim_.store(false, std::memory_order_relaxed);
    if (ring_.size() < trim_threshold_) return;
    oldest = ring_.begin();
    polled = ring_.end() - 1;
  }
  if (uses_engine()) {
    poll_engine();
    reclaim();
  } else {
    while (try_query(polled) == errc::not_ready && polled != oldest)
      polled = oldest + (polled - oldest) / 2;
  }
  const std::lock_guard hold{ring_lock_};
  trim_threshold_ = std::max(2 * ring_.size(), min_trim_threshold);
}

// Returns true if the reactor thread polls a point near the front, so that its queries remove most
// of the completed points.
bool completion_queue::is_polled_near_front() const noexcept {
  return first_awaited_ - ring_.begin() < trim_threshold_ && owner_.is_polling();
}

std::uint64_t completion_queue::push(std::uint64_t value) noexcept {
  const std::uint64_t ticket = ring_.push(value);
  if (ring_.size() >= trim_threshold_ && !is_polled_near_front())
    needs_trim_.store(true, std::memory_order_relaxed);
  return ticket;
}

driver_result completion_queue::add_point(CUstream stream, std::uint64_t generation,
                                          std::uint64_t& ticket) {
  const bool engine_notifies = uses_engine();
  const driver_result added = engine_notifies ? add_engine_point(stream, generation, ticket)
                                              : add_event_point(stream, generation, ticket);
  if (!engine_notifies && added.code != errc::success) reclaim();
  if (needs_trim_.load(std::memory_order_relaxed)) [[unlikely]] {
    trim();
  }
  return added;
}

// Serializes the recording of events, so that tickets are in the order of the stream. A record may
// take long, so ring_lock_ can be released meanwhile. The constructor leaves with the lock held.
struct completion_queue::recording_turn {
  explicit recording_turn(completion_queue& recorded_queue) noexcept
      : queue{recorded_queue}, hold{recorded_queue.ring_lock_} {
    while (queue.is_recording_) [[unlikely]] {
        const std::uint32_t seen = queue.turns_.load(std::memory_order_relaxed);
        ++queue.waiting_to_record_;
        hold.unlock();
        futex_wait(queue.turns_, seen);
        hold.lock();
        --queue.waiting_to_record_;
      }
    queue.is_recording_ = true;
  }
  recording_turn(const recording_turn&) = delete;
  recording_turn& operator=(const recording_turn&) = delete;
  ~recording_turn() {
    if (!hold.owns_lock()) hold.lock();
    queue.is_recording_ = false;
    const bool others_wait = queue.waiting_to_record_ != 0;
    if (others_wait) queue.turns_.fetch_add(1, std::memory_order_relaxed);
    hold.unlock();
    if (others_wait) [[unlikely]] {
      futex_wake(queue.turns_, 1);
    }
  }

  completion_queue& queue;
  std::unique_lock<spin_lock> hold;
};

driver_result completion_queue::add_event_point(CUstream stream, std::uint64_t generation,
                                                std::uint64_t& ticket) {
  const driver_table& calls = driver();
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  if (const CUresult answer = calls.cuStreamIsCapturing(stream, &capture); answer != CUDA_SUCCESS) {
    return {static_cast<errc>(answer), "cuStreamIsCapturing"};
  }
  if (capture == CU_STREAM_CAPTURE_STATUS_ACTIVE) return {errc::stream_capture_unsupported};
  if (capture == CU_STREAM_CAPTURE_STATUS_INVALIDATED) return {errc::stream_capture_invalidated};

  recording_turn turn_lock{*this};
  if (!is_attached_to(stream, generation) || services() != nullptr) return {stale};
  ring_.reserve_one();
  free_.reserve(ring_.capacity());
  CUevent event = nullptr;
  if (!free_.empty()) {
    event = free_.back();
    free_.pop_back();
  }
  turn_lock.hold.unlock();
  const driver_result added = record_event(event, stream);
  turn_lock.hold.lock();
  if (added.code == errc::success) ticket = push(to_value(event));
  return added;
}

// Takes an event from the pool if `event` is null. Destroys the event if recording fails.
driver_result completion_queue::record_event(CUevent& event, CUstream stream) const {
  if (event == nullptr) {
    const driver_result acquired = acquire_event(key_.context, key_.context_number, event);
    if (acquired.code != errc::success) return acquired;
  }
  const CUresult answer = driver().cuEventRecord(event, stream);
  if (answer == CUDA_SUCCESS) return {};
  destroy_events({&event, 1});
  return {static_cast<errc>(answer), "cuEventRecord"};
}

// Two threads may read the end of the stream in one order and add it in the other. The smaller
// count then shares the point of the larger one.
driver_result completion_queue::add_engine_point(CUstream stream, std::uint64_t generation,
                                                 std::uint64_t& ticket) {
  const engine_services* const engine = services();
  if (engine == nullptr) return {stale};
  timeline_point end;
  work_context context;
  const CUresult answer = engine->end_of_stream(stream, end, context);
  if (answer != CUDA_SUCCESS) return {static_cast<errc>(answer)};
  if (engine->reached(end)) {
    ticket = first_of_generation_.load(std::memory_order_relaxed);
    return {};
  }
  const std::lock_guard hold{ring_lock_};
  if (!is_attached_to(stream, generation) || services() != engine) return {stale};
  if (timeline_ != end.timeline) {
    timeline_ = end.timeline;
    work_context_ = context;
  }
  if (!ring_.empty() && ring_[ring_.end() - 1].value >= end.count) {
    ticket = ring_.end() - 1;
    return {};
  }
  ring_.reserve_one();
  ticket = push(end.count);
  return {};
}

std::uint64_t completion_queue::watch_event(CUevent event) {
  const std::lock_guard hold{ring_lock_};
  ring_.reserve_one();
  free_.reserve(1);
  is_for_event_ = true;
  is_attached_ = false;
  return ring_.push(to_value(event));
}

std::uint64_t completion_queue::watch_event(const timeline_point& point,
                                            const work_context& context) {
  const std::lock_guard hold{ring_lock_};
  ring_.reserve_one();
  timeline_ = point.timeline;
  work_context_ = context;
  is_for_event_ = true;
  is_attached_ = false;
  return ring_.push(point.count);
}

bool completion_queue::adopt_event() noexcept {
  const std::lock_guard hold{ring_lock_};
  if (ring_.empty()) return false;
  has_adopted_event_ = true;
  return true;
}

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
    return engine->reached({timeline_, value}) ? errc::success : errc::not_ready;
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
  waiter_list ready_waiters;
  if (answer != errc::success) {
    fail(answer, ready_waiters);
  } else {
    const std::lock_guard hold{ring_lock_};
    complete_through(ticket, ready_waiters);
  }
  lock.unlock();
  owner().deliver(ready_waiters, caller_kind::other);
  reclaim();
  return known_status(ticket);
}

// A point that was pending at the last poll is queried again without reading the ring, whose cache
// line belongs to the threads that add points. If it still has a waiter it is still in the ring,
// since only the holder of polling_ removes points. If a later point is pending, the oldest one is
// queried next, since it may be complete.
void completion_queue::poll(waiter_list& ready_waiters) noexcept {
  const std::unique_lock lock{polling_, std::try_to_lock};
  if (!lock.owns_lock()) return;
  if (services() != nullptr) {
    complete_reached(ready_waiters);
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
      fail(answer, ready_waiters);
    } else {
      const std::lock_guard hold{ring_lock_};
      complete_through(pending_.ticket, ready_waiters);
      stride_ = std::min(2 * stride_ + 1, ring_.size());
    }
  }
}

void completion_queue::take_waiters(pending_point& point, errc outcome,
                                    waiter_list& ready_waiters) noexcept {
  for (completion_waiter* waiter = point.first_waiter; waiter != nullptr;) {
    completion_waiter* const following = waiter->next;
    count_waiter(*waiter, -1);
    waiter->outcome = outcome;
    ready_waiters.append(*waiter);
    waiter = following;
  }
}

// free_ has room for the events: add_event_point() reserved it. first_awaited_ changes before
// take_waiters() lowers the demand: a thread that then sees no demand also sees that the queue has
// no waiters.
void completion_queue::complete_through(std::uint64_t ticket, waiter_list& ready_waiters) noexcept {
  if (first_awaited_ <= ticket) find_first_awaited(ticket + 1);
  for (std::uint64_t ticket_at = ring_.begin(); ticket_at <= ticket; ++ticket_at) {
    take_waiters(ring_[ticket_at], errc::success, ready_waiters);
    if (owns_events()) free_.push_back(to_event(ring_[ticket_at].value));
  }
  ring_.pop_through(ticket);
  completed_.store(ticket + 1, std::memory_order_release);
}

void completion_queue::fail(errc outcome, waiter_list& ready_waiters) noexcept {
  const std::lock_guard hold{ring_lock_};
  failure_.store(outcome, std::memory_order_release);
  first_awaited_ = none;
  for (std::uint64_t ticket_at = ring_.begin(); ticket_at < ring_.end(); ++ticket_at) {
    take_waiters(ring_[ticket_at], outcome, ready_waiters);
    if (owns_events()) free_.push_back(to_event(ring_[ticket_at].value));
  }
  ring_.pop_through(ring_.end() - 1);
}

}  // namespace weir::detail
