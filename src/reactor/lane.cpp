// reactor/lane.cpp - the lives of lanes, and the points that they are given.
#include "reactor/lane.hpp"

#include "os/futex.hpp"
#include "reactor/reactor.hpp"

#include <weir/detail/closed.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

namespace weir::detail {
namespace {

std::uint64_t to_mark(CUevent event) noexcept { return reinterpret_cast<std::uintptr_t>(event); }

}  // namespace

// A ticket of its own says that a stream had nothing to do: it is settled from the beginning.
void lane::attach(const lane_place& where) {
  const std::lock_guard asking{polling_};
  const std::lock_guard hold{ring_lock_};
  place_ = where;
  life_.fetch_add(1, std::memory_order_relaxed);
  services_.store(services_if_any(), std::memory_order_relaxed);
  line_ = nullptr;
  notice_.reached = &lane::told;
  notice_.of = this;
  first_of_life_ = ring_.skip();
  settled_.store(ring_.begin(), std::memory_order_release);
  attached_ = true;
  pooled_ = false;
  of_an_event_ = false;
  event_is_left_ = false;
}

lane_place lane::place_of(std::uint64_t ticket) const noexcept {
  const std::lock_guard hold{ring_lock_};
  return attached_ && ticket >= first_of_life_ ? place_ : lane_place{};
}

void lane::detach() noexcept {
  {
    const std::lock_guard hold{ring_lock_};
    attached_ = false;
  }
  tidy();
}

bool lane::idle() noexcept {
  std::uint64_t last = 0;
  {
    const std::lock_guard hold{ring_lock_};
    if (ring_.empty()) return !is_noting_;
    last = ring_.end() - 1;
  }
  return ask_unless_asked(last) != errc::not_ready;
}

void lane::ask_if_abandoned() noexcept {
  std::uint64_t last = 0;
  {
    const std::lock_guard hold{ring_lock_};
    if (attached_ || arrived_ || ring_.empty() || notices_.load() != 0) return;
    last = ring_.end() - 1;
  }
  static_cast<void>(ask_unless_asked(last));
}

void lane::tidy() noexcept {
  std::vector<CUevent> unused;
  unsigned long long context = 0;
  bool is_over = false;
  bool are_good = false;
  {
    const std::lock_guard hold{ring_lock_};
    is_over = !attached_ && !pooled_ && !arrived_ && notices_.load() == 0 && ring_.empty() && !is_noting_ && !failed();
    if (is_over) pooled_ = true;
    are_good = !of_an_event_ && !failed();
    if (ring_.empty()) crowd_ = smallest_crowd;  // else what a burst has left would pile up again
    if (ring_.shrink() || is_over || failed()) unused.swap(free_);
    context = place_.context_number;
  }
  if (are_good) {
    give_events(context, unused);
  } else {
    destroy_events(unused);
  }
  if (is_over) give_back_lane(*this);
}

// Points that nobody asks for are settled once there are twice as many as were left the last time: so whatever of them is
// done, the questions are few beside the points. If the newest is done so are all; else half of what is done is found.
void lane::make_way() noexcept {
  std::uint64_t oldest = 0;
  std::uint64_t asked = 0;
  {
    const std::lock_guard hold{ring_lock_};
    is_crowded_.store(false, std::memory_order_relaxed);
    if (ring_.size() < crowd_) return;
    oldest = ring_.begin();
    asked = ring_.end() - 1;
  }
  if (is_told()) {
    look_again();
    tidy();
  } else {
    while (ask_unless_asked(asked) == errc::not_ready && asked != oldest) asked = oldest + (asked - oldest) / 2;
  }
  const std::lock_guard hold{ring_lock_};
  crowd_ = std::max(2 * ring_.size(), smallest_crowd);
}

// Points are settled from the front: few may be older than the one that the reactor's thread asks for.
bool lane::are_asked_for() const noexcept { return first_awaited_ - ring_.begin() < crowd_ && home_.is_asking(); }

std::uint64_t lane::push(std::uint64_t what) noexcept {
  const std::uint64_t ticket = ring_.push(what);
  if (ring_.size() >= crowd_ && !are_asked_for()) is_crowded_.store(true, std::memory_order_relaxed);
  return ticket;
}

call_outcome lane::note(CUstream stream, std::uint64_t life, std::uint64_t& ticket) {
  const bool is_told_of = is_told();
  const call_outcome noted = is_told_of ? note_point(stream, life, ticket) : note_event(stream, life, ticket);
  if (!is_told_of && noted.code != errc::success) tidy();
  if (is_crowded_.load(std::memory_order_relaxed)) [[unlikely]] {
    make_way();
  }
  return noted;
}

// One event after the other is recorded, so that tickets are in the order of the stream. A driver may take its time. Begins and
// ends with ring_lock_ held, which others may have meanwhile.
struct lane::turn {
  explicit turn(lane& in) noexcept : of{in}, hold{in.ring_lock_} {
    while (of.is_noting_) [[unlikely]] {
        const std::uint32_t seen = of.turns_.load(std::memory_order_relaxed);
        ++of.waiting_to_note_;
        hold.unlock();
        futex_wait(of.turns_, seen);
        hold.lock();
        --of.waiting_to_note_;
      }
    of.is_noting_ = true;
  }
  turn(const turn&) = delete;
  turn& operator=(const turn&) = delete;
  ~turn() {
    if (!hold.owns_lock()) hold.lock();
    of.is_noting_ = false;
    const bool others_wait = of.waiting_to_note_ != 0;
    if (others_wait) of.turns_.fetch_add(1, std::memory_order_relaxed);
    hold.unlock();
    if (others_wait) [[unlikely]] {
      futex_wake(of.turns_, 1);
    }
  }

  lane& of;
  std::unique_lock<spin_lock> hold;
};

call_outcome lane::note_event(CUstream stream, std::uint64_t life, std::uint64_t& ticket) {
  const driver_table& calls = driver();
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  if (const CUresult answer = calls.cuStreamIsCapturing(stream, &capture); answer != CUDA_SUCCESS) {
    return {static_cast<errc>(answer), "cuStreamIsCapturing"};
  }
  if (capture == CU_STREAM_CAPTURE_STATUS_ACTIVE) return {errc::stream_capture_unsupported};
  if (capture == CU_STREAM_CAPTURE_STATUS_INVALIDATED) return {errc::stream_capture_invalidated};

  turn mine{*this};
  if (!serves(stream, life) || services() != nullptr) return {moved_on};
  ring_.make_room();
  free_.reserve(ring_.capacity());
  CUevent event = nullptr;
  if (!free_.empty()) {
    event = free_.back();
    free_.pop_back();
  }
  mine.hold.unlock();
  const call_outcome noted = record(event, stream);
  mine.hold.lock();
  if (noted.code == errc::success) ticket = push(to_mark(event));
  return noted;
}

// Into an event that is made if there is none.
call_outcome lane::record(CUevent& event, CUstream stream) const {
  if (event == nullptr) {
    const call_outcome taken = take_event(place_.context, place_.context_number, event);
    if (taken.code != errc::success) return taken;
  }
  const CUresult answer = driver().cuEventRecord(event, stream);
  if (answer == CUDA_SUCCESS) return {};
  destroy_events({&event, 1});
  return {static_cast<errc>(answer), "cuEventRecord"};
}

// Threads that ask at once may do so in either order: a count that another has overtaken is taken for his.
call_outcome lane::note_point(CUstream stream, std::uint64_t life, std::uint64_t& ticket) {
  const engine_services* const engine = services();
  if (engine == nullptr) return {moved_on};
  work_point end;
  work_home where;
  const CUresult answer = engine->end_of(stream, end, where);
  if (answer != CUDA_SUCCESS) return {static_cast<errc>(answer)};
  if (engine->reached(end)) {
    ticket = first_of_life_.load(std::memory_order_relaxed);
    return {};
  }
  const std::lock_guard hold{ring_lock_};
  if (!serves(stream, life) || services() != engine) return {moved_on};
  if (line_ != end.line) {
    line_ = end.line;
    work_home_ = where;
  }
  if (!ring_.empty() && ring_[ring_.end() - 1].what >= end.count) {
    ticket = ring_.end() - 1;
    return {};
  }
  ring_.make_room();
  ticket = push(end.count);
  return {};
}

std::uint64_t lane::note_only(CUevent event) {
  const std::lock_guard hold{ring_lock_};
  ring_.make_room();
  free_.reserve(1);
  of_an_event_ = true;
  attached_ = false;
  return ring_.push(to_mark(event));
}

std::uint64_t lane::note_only(const work_point& point, const work_home& where) {
  const std::lock_guard hold{ring_lock_};
  ring_.make_room();
  line_ = point.line;
  work_home_ = where;
  of_an_event_ = true;
  attached_ = false;
  return ring_.push(point.count);
}

bool lane::leave_event() noexcept {
  const std::lock_guard hold{ring_lock_};
  if (ring_.empty()) return false;
  event_is_left_ = true;
  return true;
}

}  // namespace weir::detail
