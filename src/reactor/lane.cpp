// reactor/lane.cpp - points: noted, asked for, settled.
#include "reactor/lane.hpp"

#include "driver/open_captures.hpp"
#include "reactor/reactor.hpp"

#include <weir/closed.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

namespace weir::detail {
namespace {

CUevent to_event(std::uint64_t what) noexcept { return reinterpret_cast<CUevent>(static_cast<std::uintptr_t>(what)); }
std::uint64_t to_mark(CUevent event) noexcept { return reinterpret_cast<std::uintptr_t>(event); }

// The thread may capture, or somebody else may, in a mode that holds this question to be unsafe. In captures that were begun
// past weir the driver's own answer stands.
class harmless_question {
 public:
  explicit harmless_question(const driver_table& calls) noexcept : calls_{calls} {
    if (open_captures.load(std::memory_order_relaxed) == 0) [[likely]] {
      return;
    }
    exchanged_ = calls_.cuThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS;
  }
  harmless_question(const harmless_question&) = delete;
  harmless_question& operator=(const harmless_question&) = delete;
  ~harmless_question() {
    if (exchanged_) static_cast<void>(calls_.cuThreadExchangeStreamCaptureMode(&mode_));
  }

 private:
  const driver_table& calls_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  bool exchanged_ = false;
};

// What a driver answers where a capture somewhere forbids the question: nothing about the work.
bool is_about_captures(CUresult answer) noexcept {
  return answer == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED || answer == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
         answer == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

}  // namespace

// A ticket of its own says that a stream had nothing to do: it is settled from the beginning.
void lane::attach(const lane_place& where) {
  const std::lock_guard alone{noting_};
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

// Points that nobody waits for are settled when there is no room for more of them.
void lane::make_way() noexcept {
  std::uint64_t oldest = 0;
  std::uint64_t middle = 0;
  {
    const std::lock_guard hold{ring_lock_};
    if (ring_.empty() || ring_.size() < ring_.capacity()) return;
    oldest = ring_.begin();
    middle = oldest + ring_.size() / 2;
  }
  if (ask_unless_asked(middle) == errc::not_ready) static_cast<void>(ask_unless_asked(oldest));
}

call_outcome lane::note(CUstream stream, std::uint64_t life, std::uint64_t& ticket) {
  if (services() != nullptr) return note_point(stream, life, ticket);
  make_way();
  const call_outcome noted = note_event(stream, life, ticket);
  if (noted.code != errc::success) tidy();
  return noted;
}

call_outcome lane::note_event(CUstream stream, std::uint64_t life, std::uint64_t& ticket) {
  const driver_table& calls = driver();
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  if (const CUresult answer = calls.cuStreamIsCapturing(stream, &capture); answer != CUDA_SUCCESS) {
    return {static_cast<errc>(answer), "cuStreamIsCapturing"};
  }
  if (capture == CU_STREAM_CAPTURE_STATUS_ACTIVE) return {errc::stream_capture_unsupported};
  if (capture == CU_STREAM_CAPTURE_STATUS_INVALIDATED) return {errc::stream_capture_invalidated};

  const std::lock_guard alone{noting_};
  CUevent event = nullptr;
  {
    const std::lock_guard hold{ring_lock_};
    if (!serves(stream, life) || services() != nullptr) return {moved_on};
    ring_.make_room();
    free_.reserve(ring_.capacity());
    if (!free_.empty()) {
      event = free_.back();
      free_.pop_back();
    }
    is_noting_ = true;
  }
  const call_outcome noted = record(event, stream);
  const std::lock_guard hold{ring_lock_};
  is_noting_ = false;
  if (noted.code == errc::success) ticket = ring_.push(to_mark(event));
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
  make_way();
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
  ticket = ring_.push(end.count);
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

errc lane::known(std::uint64_t ticket) const noexcept {
  if (ticket < settled_.load(std::memory_order_acquire)) return errc::success;
  const errc failure = failure_.load(std::memory_order_acquire);
  if (failure == errc::success) return errc::not_ready;
  return ticket < settled_.load(std::memory_order_acquire) ? errc::success : failure;
}

errc lane::query(std::uint64_t what) const noexcept {
  if (const engine_services* const engine = services()) {
    if (const CUresult health = engine->health(work_home_); health != CUDA_SUCCESS) return static_cast<errc>(health);
    return engine->reached({line_, what}) ? errc::success : errc::not_ready;
  }
  const driver_table& calls = *table_in_use.load(std::memory_order_acquire);
  const harmless_question unharmed{calls};
  const CUresult answer = calls.cuEventQuery(to_event(what));
  return is_about_captures(answer) ? errc::not_ready : static_cast<errc>(answer);
}

errc lane::ask(std::uint64_t ticket) noexcept {
  if (const errc outcome = known(ticket); outcome != errc::not_ready) return outcome;
  return ask_alone(ticket, std::unique_lock{polling_});
}

errc lane::ask_unless_asked(std::uint64_t ticket) noexcept {
  if (const errc outcome = known(ticket); outcome != errc::not_ready) return outcome;
  std::unique_lock asking{polling_, std::try_to_lock};
  return asking.owns_lock() ? ask_alone(ticket, std::move(asking)) : known(ticket);
}

errc lane::ask_alone(std::uint64_t ticket, std::unique_lock<spin_lock> asking) noexcept {
  std::uint64_t what = 0;
  {
    const std::lock_guard hold{ring_lock_};
    if (ring_.holds(ticket)) what = ring_[ticket].what;
  }
  if (what == 0) return known(ticket);
  const errc answer = query(what);
  if (answer == errc::not_ready) return answer;
  waiter_list due;
  if (answer != errc::success) {
    fail(answer, due);
  } else {
    const std::lock_guard hold{ring_lock_};
    settle_through(ticket, due);
  }
  asking.unlock();
  home().deliver(due, callers::any);
  tidy();
  return known(ticket);
}

void lane::poll(waiter_list& due) noexcept {
  const std::unique_lock asking{polling_, std::try_to_lock};
  if (!asking.owns_lock()) return;
  if (services() != nullptr) {
    settle_reached(due);
    return;
  }
  std::uint64_t ticket = 0;
  std::uint64_t what = 0;
  {
    const std::lock_guard hold{ring_lock_};
    if (first_awaited_ == none) return;
    ticket = std::min(first_awaited_ + stride_, ring_.end() - 1);
    what = ring_[ticket].what;
  }
  const errc answer = query(what);
  if (answer == errc::not_ready) {
    stride_ = 0;
  } else if (answer != errc::success) {
    fail(answer, due);
  } else {
    const std::lock_guard hold{ring_lock_};
    settle_through(ticket, due);
    stride_ = std::min(2 * stride_ + 1, ring_.size());
  }
}

void lane::take_waiters(mark& from, errc outcome, waiter_list& due) noexcept {
  for (completion_waiter* who = from.first; who != nullptr;) {
    completion_waiter* const behind = who->next;
    count(*who, -1);
    who->outcome = outcome;
    due.append(*who);
    who = behind;
  }
}

// The room that a point had is room for its event: note_event() has seen to that.
void lane::settle_through(std::uint64_t ticket, waiter_list& due) noexcept {
  for (std::uint64_t at = ring_.begin(); at <= ticket; ++at) {
    take_waiters(ring_[at], errc::success, due);
    if (owns_marks()) free_.push_back(to_event(ring_[at].what));
  }
  ring_.pop_through(ticket);
  settled_.store(ticket + 1, std::memory_order_release);
  if (first_awaited_ <= ticket) find_first_awaited(ticket + 1);
}

void lane::fail(errc outcome, waiter_list& due) noexcept {
  const std::lock_guard hold{ring_lock_};
  failure_.store(outcome, std::memory_order_release);
  for (std::uint64_t at = ring_.begin(); at != ring_.end(); ++at) {
    take_waiters(ring_[at], outcome, due);
    if (owns_marks()) free_.push_back(to_event(ring_[at].what));
  }
  ring_.pop_through(ring_.end() - 1);
  first_awaited_ = none;
}

}  // namespace weir::detail
