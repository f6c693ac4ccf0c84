// engine/timeline.cpp - operations submitted and run in order, by one thread at a time.
#include "embedded/engine/timeline.hpp"

#include <new>

#include "embedded/engine/scheduler.hpp"
#include "embedded/engine/successor.hpp"
#include "embedded/engine/value_watch.hpp"
#include "embedded/engine/value_writers.hpp"
#include "embedded/engine/waiting.hpp"

namespace weir::embedded::engine {

timeline::submission::~submission() {
  const std::uint64_t end = line_.queue_.pushed();
  const bool news = end != line_.submitted_.load(std::memory_order_relaxed);
  // Sequentially consistent, against the owner who looks for more work after it has let go (disown).
  if (news) line_.submitted_.store(end);
  alone_.reset();
  if (!news) return;
  scheduler& s = scheduler::instance();
  if (s.stepping()) {
    s.submitted(line_);
  } else {
    line_.announce();
  }
}

void timeline::submission::add_wait(point until) {
  if (until.line == &line_) return;
  if (!until.reached()) {
    operation op;
    op.kind = operation_kind::wait_point;
    op.runs_after_failure = true;
    ::new (op.payload) point{until};
    line_.queue_.push(op);
  }
  if (wait_log::wanted.load(std::memory_order_relaxed) && until.line != nullptr) {
    line_.waits_.note(line_.queue_.pushed(), until);
  }
}

void timeline::make_known_to_host(std::uint64_t count) noexcept {
  std::uint64_t known = known_to_host_.load(std::memory_order_relaxed);
  while (known < count && !known_to_host_.compare_exchange_weak(known, count, std::memory_order_acq_rel)) {
  }
}

void timeline::announce() noexcept {
  scheduler& s = scheduler::instance();
  if (s.stepping()) return;  // the conductor knows of it until it is drained
  if (mark_listed()) s.list(*this);
}

bool timeline::mark_listed() noexcept {
  std::uint32_t s = state_.load();
  do {
    if ((s & (listed | owned | parked)) != 0) return false;
  } while (!state_.compare_exchange_weak(s, s | listed));
  return true;
}

bool timeline::mark_unlisted() noexcept {
  state_.fetch_and(~listed);
  return completed_.load() < submitted_.load() && mark_listed();
}

bool timeline::try_own() noexcept {
  // Sequentially consistent: a submitter who still finds it listed relies on the worker that has just unlisted it.
  if (completed_.load(std::memory_order_relaxed) >= submitted_.load()) return false;
  std::uint32_t s = state_.load(std::memory_order_relaxed);
  do {
    if ((s & (owned | parked)) != 0) return false;
  } while (!state_.compare_exchange_weak(s, s | owned, std::memory_order_acq_rel, std::memory_order_relaxed));
  return true;
}

void timeline::disown() noexcept {
  state_.fetch_and(~owned);
  if (completed_.load() < submitted_.load()) {
    announce();
  } else if (release_when_drained_.load()) {
    give_back_if_drained();
  }
}

void timeline::park() noexcept {
  std::uint32_t s = state_.load(std::memory_order_relaxed);
  while (
      !state_.compare_exchange_weak(s, (s & ~owned) | parked, std::memory_order_acq_rel, std::memory_order_relaxed)) {
  }
}

void timeline::own_parked() noexcept {
  std::uint32_t s = state_.load(std::memory_order_relaxed);
  while (
      !state_.compare_exchange_weak(s, (s & ~parked) | owned, std::memory_order_acq_rel, std::memory_order_relaxed)) {
  }
}

void timeline::unpark() noexcept {
  blocked_line_.store(nullptr, std::memory_order_relaxed);
  watched_word_.store(nullptr, std::memory_order_relaxed);
  state_.fetch_and(~parked);
  if (!successor::of_this_thread().keeps(*this)) announce();
}

// Before anything that takes long: others may go on with what this thread has kept for itself.
void timeline::let_successor_go() noexcept {
  if (timeline* kept = successor::of_this_thread().take()) kept->announce();
}

point timeline::blocked_on() const noexcept {
  // The two may be of different waits; whoever follows them looks again at what it really waits for.
  if (timeline* line = blocked_line_.load(std::memory_order_acquire)) {
    return {line, blocked_count_.load(std::memory_order_acquire)};
  }
  const void* word = watched_word();
  return word == nullptr ? point{} : value_writers::last_of(word);
}

// Parks on a point, unless it was reached meanwhile, or there is no memory to note that down: the caller is the owner again.
timeline::parking timeline::park_on(point until) noexcept {
  blocked_count_.store(until.count, std::memory_order_relaxed);
  blocked_line_.store(until.line, std::memory_order_release);
  park();
  parking made = parking::reached;
  try {
    if (until.line->add_waiter({until.count, this, nullptr})) return parking::parked;
  } catch (const std::bad_alloc&) {
    made = parking::without_memory;
  }
  blocked_line_.store(nullptr, std::memory_order_relaxed);
  own_parked();
  return made;
}

// The same for a value.
bool timeline::park_on_value(operation& op) noexcept {
  watched_word_.store(op.as<const void*>(), std::memory_order_relaxed);
  park();
  if (value_watch::instance().add(*this)) return true;
  watched_word_.store(nullptr, std::memory_order_relaxed);
  own_parked();
  return false;
}

bool timeline::value_arrived() noexcept {
  operation& op = queue_.front();
  return op.body(op) || device_failure() != abi::CUDA_SUCCESS;
}

// Does not order the two accesses: one that begins to wait at this very moment may be missed here, and is seen by
// settle(), which does and runs before anything that takes long and when the owner stops.
void timeline::publish(std::uint64_t count) noexcept {
  completed_.store(count, std::memory_order_release);
  if (wake_at_.load(std::memory_order_relaxed) <= count) wake_reached();
}

void timeline::settle(std::uint64_t count) noexcept {
  completed_.store(count);
  if (wake_at_.load() <= count) wake_reached();
}

// Who runs what takes long, or is the program's own code?
bool timeline::may_run(runner who, operation_kind kind) noexcept {
  if (kind == operation_kind::host) return who == runner::host_thread;
  return who == runner::worker || who == runner::helper;
}

stop timeline::run(runner who, std::uint64_t limit, std::uint32_t beyond) noexcept {
  scheduler& sched = scheduler::instance();
  std::uint64_t done = completed_.load(std::memory_order_relaxed);
  std::uint64_t available = submitted_.load(std::memory_order_acquire);
  stop why = stop::limit;
  const std::uint64_t farthest = limit + beyond;
  while (done < farthest) {
    if (done == available && (available = submitted_.load(std::memory_order_acquire)) == done) {
      why = stop::drained;
      break;
    }
    operation& op = queue_.front();
    const bool failed = device_failure() != abi::CUDA_SUCCESS;
    if (op.kind != operation_kind::work) [[unlikely]] {
      if (done >= limit) break;
      settle(done);
      if (op.kind == operation_kind::wait_point) {
        const point until = op.as<point>();
        const parking made = until.reached() ? parking::reached : park_on(until);
        if (made == parking::without_memory) disown();  // whoever comes tries again
        if (made != parking::reached) return stop::blocked;
        op.body = nullptr;
      } else if (op.kind == operation_kind::wait_value) {
        if (!failed && !op.body(op) && park_on_value(op)) return stop::blocked;
        op.body = nullptr;
      } else if (!may_run(who, op.kind) && (op.runs_after_failure || !failed)) {
        if (op.kind == operation_kind::host) {
          park();
          sched.give_to_host_thread(*this);
        } else if (who == runner::step) {
          park();
          sched.give_to_long_thread(*this);
          return stop::apart;
        } else {
          disown();
        }
        return stop::host;
      }
    }
    if (op.kind == operation_kind::long_work || op.kind == operation_kind::host) let_successor_go();
    if (op.body != nullptr && (!failed || op.runs_after_failure)) op.body(op);
    queue_.pop();
    publish(++done);
  }
  if (done >= limit && done == submitted_.load(std::memory_order_relaxed)) why = stop::drained;
  settle(done);
  disown();
  return why;
}

}  // namespace weir::embedded::engine
