// reactor/lane_asking.cpp - points asked about, and settled.
#include "driver/active_captures.hpp"
#include "reactor/lane.hpp"
#include "reactor/reactor.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace weir::detail {
namespace {

CUevent to_event(std::uint64_t what) noexcept { return reinterpret_cast<CUevent>(static_cast<std::uintptr_t>(what)); }

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

// One that was pending the last time is asked about again without a look at the ring: that belongs to those who make points. If
// somebody waits for it still it is there still, as only who holds polling_ takes points away. Where a later one is asked about
// and pending, the oldest may be done.
void lane::poll(waiter_list& due) noexcept {
  const std::unique_lock asking{polling_, std::try_to_lock};
  if (!asking.owns_lock()) return;
  if (services() != nullptr) {
    settle_reached(due);
    return;
  }
  for (bool again = true; again;) {
    const std::uint64_t oldest = first_awaited_.load(std::memory_order_relaxed);
    if (pending_.ticket != oldest) {
      const std::lock_guard hold{ring_lock_};
      if (first_awaited_ == none) return;
      pending_.ticket = std::min(first_awaited_ + stride_, ring_.end() - 1);
      pending_.what = ring_[pending_.ticket].what;
    }
    again = false;
    const errc answer = query(pending_.what);
    if (answer == errc::not_ready) {
      again = std::exchange(stride_, 0) != 0 && pending_.ticket != oldest;
    } else if (answer != errc::success) {
      fail(answer, due);
    } else {
      const std::lock_guard hold{ring_lock_};
      settle_through(pending_.ticket, due);
      stride_ = std::min(2 * stride_ + 1, ring_.size());
    }
  }
}

void lane::take_waiters(marked_point& from, errc outcome, waiter_list& due) noexcept {
  for (completion_waiter* who = from.first; who != nullptr;) {
    completion_waiter* const behind = who->next;
    count(*who, -1);
    who->outcome = outcome;
    due.append(*who);
    who = behind;
  }
}

// The room that a point had is room for its event: note_event() has seen to that. Before the reactor's thread is told that
// nobody needs it, it has to find that nobody waits here.
void lane::settle_through(std::uint64_t ticket, waiter_list& due) noexcept {
  if (first_awaited_ <= ticket) find_first_awaited(ticket + 1);
  for (std::uint64_t at = ring_.begin(); at <= ticket; ++at) {
    take_waiters(ring_[at], errc::success, due);
    if (owns_marks()) free_.push_back(to_event(ring_[at].what));
  }
  ring_.pop_through(ticket);
  settled_.store(ticket + 1, std::memory_order_release);
}

void lane::fail(errc outcome, waiter_list& due) noexcept {
  const std::lock_guard hold{ring_lock_};
  failure_.store(outcome, std::memory_order_release);
  first_awaited_ = none;
  for (std::uint64_t at = ring_.begin(); at < ring_.end(); ++at) {
    take_waiters(ring_[at], outcome, due);
    if (owns_marks()) free_.push_back(to_event(ring_[at].what));
  }
  ring_.pop_through(ring_.end() - 1);
}

}  // namespace weir::detail
