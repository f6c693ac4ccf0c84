// reactor/lane_waiters.cpp - who waits for a point of a stream, and how the engine tells that it is reached.
#include "reactor/lane.hpp"
#include "reactor/reactor.hpp"
#include "reactor/run_loop.hpp"

#include <mutex>
#include <new>
#include <utility>

namespace weir::detail {

bool lane::add(completion_waiter& who, std::uint64_t ticket) {
  bool arrives = false;
  bool is_first = false;
  bool is_told_of = false;
  {
    const std::lock_guard hold{ring_lock_};
    who.outcome = known(ticket);
    if (who.outcome != errc::not_ready) return false;
    marked_point& at = ring_[ticket];
    who.ticket = ticket;
    who.previous = nullptr;
    who.next = at.first;
    if (at.first != nullptr) at.first->previous = &who;
    at.first = &who;
    is_first = ticket < first_awaited_;
    if (is_first) first_awaited_ = ticket;
    who.loop = nullptr;
    if (who.by == teller::loop) run_loop::join(who, *this);
    is_told_of = is_told();
    arrives = !arrived_ && !is_told_of;
    if (arrives) arrived_ = true;
    count(who, 1);
  }
  if (is_told_of) {
    arm();
  } else if (arrives) {
    home().arrive(*this);
  } else if (is_first) {
    home().look_sooner();
  }
  return true;
}

bool lane::is_being_asked(std::uint64_t ticket) const noexcept {
  return first_awaited_.load(std::memory_order_relaxed) <= ticket && !is_told() && home_.is_asking() &&
         !run_loop::is_inside();
}

bool lane::remove(completion_waiter& who) noexcept {
  const std::lock_guard hold{ring_lock_};
  // One that is taken out to be told is in no ring any more, nor is its ticket; 0 is in none.
  const std::uint64_t ticket = who.ticket;
  if (!ring_.holds(ticket)) return false;
  who.ticket = 0;
  (who.previous != nullptr ? who.previous->next : ring_[ticket].first) = who.next;
  if (who.next != nullptr) who.next->previous = who.previous;
  if (ticket == first_awaited_ && ring_[ticket].first == nullptr) find_first_awaited(ticket + 1);
  count(who, -1);
  return true;
}

// Who sees to it that the lane is asked, or told: a loop, while it is one, or the reactor's thread.
void lane::count(completion_waiter& who, int change) noexcept {
  if (who.loop != nullptr) {
    who.loop->note_pending(change);
  } else if (who.by != teller::any && !is_told()) {
    const int before = std::exchange(needing_, needing_ + change);
    if (before == 0 || needing_ == 0) home().need(change);
  }
}

void lane::find_first_awaited(std::uint64_t from) noexcept {
  while (from != ring_.end() && ring_[from].first == nullptr) ++from;
  first_awaited_ = from != ring_.end() ? from : none;
}

bool lane::leave_if_unawaited() noexcept {
  if (first_awaited_ != none) return false;
  const std::lock_guard hold{ring_lock_};
  if (first_awaited_ != none) return false;
  arrived_ = false;
  if (is_told()) home().need(-1);
  return true;
}

// All that the engine has reached; with polling_ held. Without points it knows no context to be asked about.
void lane::settle_reached(waiter_list& due) noexcept {
  const engine_services* const engine = services();
  {
    const std::lock_guard hold{ring_lock_};
    if (engine == nullptr || ring_.empty()) return;
  }
  if (const CUresult health = engine->health(work_home_); health != CUDA_SUCCESS) {
    fail(static_cast<errc>(health), due);
    return;
  }
  const std::lock_guard hold{ring_lock_};
  std::uint64_t reached = ring_.begin();
  while (reached != ring_.end() && engine->reached({line_, ring_[reached].what})) ++reached;
  if (reached != ring_.begin()) settle_through(reached - 1, due);
}

void lane::look_again() noexcept {
  if (!is_told()) return;
  waiter_list due;
  {
    const std::lock_guard asking{polling_};
    settle_reached(due);
  }
  home().deliver(due, callers::any);
}

// Has the engine tell of the oldest point that somebody waits for. What is reached already is settled here, and who waited
// is told.
void lane::arm() noexcept {
  while (!arm_or_say_reached()) look_again();
}

bool lane::arm_or_say_reached() noexcept {
  const std::lock_guard alone{arming_};
  const engine_services* engine = nullptr;
  work_point wanted;
  std::uint64_t ticket = none;
  {
    const std::lock_guard hold{ring_lock_};
    engine = services();
    ticket = first_awaited_;
    if (engine == nullptr || ticket == none) return true;
    wanted = {line_, ring_[ticket].what};
    if (const std::uint64_t before = armed_.load(); before != 0) {
      if (before <= ticket) return true;
    }
    notices_.fetch_add(1);  // from here on the life goes on
  }
  if (armed_.load() != 0) {
    if (!engine->untell(armed_point_, notice_)) {  // it is being told, and looks for more
      drop_notice();
      return true;
    }
    notices_.fetch_sub(1);
  }
  armed_point_ = wanted;
  armed_.store(ticket);
  try {
    if (engine->tell(wanted, notice_)) return true;
  } catch (const std::bad_alloc&) {
    ask_instead();
    armed_.store(0);
    drop_notice();
    return true;
  }
  armed_.store(0);
  drop_notice();
  return false;
}

// Where the engine cannot tell, the reactor's thread asks.
void lane::ask_instead() noexcept {
  {
    const std::lock_guard hold{ring_lock_};
    if (arrived_) return;
    arrived_ = true;
  }
  home().need(1);
  home().arrive(*this);
}

void lane::drop_notice() noexcept {
  if (notices_.fetch_sub(1) == 1) tidy();
}

// On a thread of the engine.
void lane::told(engine_notice& self) noexcept {
  lane& me = *static_cast<notice&>(self).of;
  me.armed_.store(0);
  me.look_again();
  me.arm();
  me.drop_notice();
}

lane::engine_point lane::in_engine(std::uint64_t ticket) noexcept {
  const std::lock_guard hold{ring_lock_};
  if (ticket == none) ticket = first_awaited_;
  const engine_services* const engine = services();
  if (engine == nullptr || !ring_.holds(ticket)) return {};
  return {engine, {line_, ring_[ticket].what}};
}

lane::help lane::help_engine() noexcept { return help_engine(none); }

lane::help lane::help_engine(std::uint64_t ticket) noexcept {
  const engine_point until = in_engine(ticket);
  if (until.engine == nullptr) return help::of_no_use;
  return until.engine->help(until.what) ? help::alone : help::beside_others;
}

}  // namespace weir::detail
