// reactor/completion_queue.cpp - the lives of lanes, and the points that they are given.
#include "reactor/completion_queue.hpp"

#include "os/futex.hpp"
#include "reactor/reactor.hpp"

#include <weir/detail/closed.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

namespace weir::detail {
namespace {

std::uint64_t to_value(CUevent event) noexcept { return reinterpret_cast<std::uintptr_t>(event); }

}  // namespace

// A ticket of its own says that a stream had nothing to do: it is settled from the beginning.
void completion_queue::attach(const queue_key& key) {
  const std::lock_guard lock{polling_};
  const std::lock_guard hold{ring_lock_};
  key_ = key;
  generation_.fetch_add(1, std::memory_order_relaxed);
  services_.store(active_engine_services(), std::memory_order_relaxed);
  line_ = nullptr;
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
    if (ring_.empty())
      trim_threshold_ = min_trim_threshold;  // else what a burst has left would pile up again
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

// Points that nobody asks for are settled once there are twice as many as were left the last time:
// so whatever of them is done, the questions are few beside the points. If the newest is done so
// are all; else half of what is done is found.
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

// Points are settled from the front: few may be older than the one that the reactor's thread asks
// for.
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

// One event after the other is recorded, so that tickets are in the order of the stream. A driver
// may take its time. Begins and ends with ring_lock_ held, which others may have meanwhile.
struct completion_queue::recording_turn {
  explicit recording_turn(completion_queue& in) noexcept : queue{in}, hold{in.ring_lock_} {
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

// Into an event that is made if there is none.
driver_result completion_queue::record_event(CUevent& event, CUstream stream) const {
  if (event == nullptr) {
    const driver_result taken = acquire_event(key_.context, key_.context_number, event);
    if (taken.code != errc::success) return taken;
  }
  const CUresult answer = driver().cuEventRecord(event, stream);
  if (answer == CUDA_SUCCESS) return {};
  destroy_events({&event, 1});
  return {static_cast<errc>(answer), "cuEventRecord"};
}

// Threads that ask at once may do so in either order: a count that another has overtaken is taken
// for his.
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
  if (line_ != end.line) {
    line_ = end.line;
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
  line_ = point.line;
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

}  // namespace weir::detail
