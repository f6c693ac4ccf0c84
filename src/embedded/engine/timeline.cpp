// engine/timeline.cpp - operations submitted and run in order, by one thread at a time.
#include "embedded/engine/timeline.hpp"

#include <new>

#include "embedded/engine/pending_value_writes.hpp"
#include "embedded/engine/run_next_slot.hpp"
#include "embedded/engine/scheduler.hpp"
#include "embedded/engine/value_waiters.hpp"
#include "embedded/engine/waiting.hpp"

namespace weir::embedded::engine {

timeline::submission::~submission() {
  const std::uint64_t end = line_.queue_.pushed();
  const bool has_additions = end != line_.submitted_.load(std::memory_order_relaxed);
  // Sequentially consistent, against the owner who looks for more work after it has let go
  // (disown).
  if (has_additions) line_.submitted_.store(end);
  lock_.reset();
  if (!has_additions) return;
  scheduler& s = scheduler::instance();
  if (s.is_deterministic()) {
    s.on_submit(line_);
  } else {
    line_.make_ready();
  }
}

void timeline::submission::add_wait(point target) {
  if (target.line == &line_) return;
  if (!target.reached()) {
    operation op;
    op.kind = operation_kind::wait_point;
    op.runs_after_failure = true;
    ::new (op.payload) point{target};
    line_.queue_.push(op);
  }
  if (wait_log::enabled.load(std::memory_order_relaxed) && target.line != nullptr) {
    line_.waits_.add(line_.queue_.pushed(), target);
  }
}

void timeline::mark_known_to_host(std::uint64_t count) noexcept {
  std::uint64_t known = known_to_host_.load(std::memory_order_relaxed);
  while (known < count &&
         !known_to_host_.compare_exchange_weak(known, count, std::memory_order_acq_rel)) {
  }
}

void timeline::make_ready() noexcept {
  scheduler& s = scheduler::instance();
  if (s.is_deterministic()) return;  // the conductor knows of it until it is drained
  if (mark_queued()) s.enqueue(*this);
}

bool timeline::mark_queued() noexcept {
  std::uint32_t s = state_.load();
  do {
    if ((s & (queued | owned | parked)) != 0) return false;
  } while (!state_.compare_exchange_weak(s, s | queued));
  return true;
}

bool timeline::unmark_queued() noexcept {
  state_.fetch_and(~queued);
  return completed_.load() < submitted_.load() && mark_queued();
}

bool timeline::try_own() noexcept {
  // Sequentially consistent: a submitter who still finds it listed relies on the worker that has
  // just unlisted it.
  if (completed_.load(std::memory_order_relaxed) >= submitted_.load()) return false;
  std::uint32_t s = state_.load(std::memory_order_relaxed);
  do {
    if ((s & (owned | parked)) != 0) return false;
  } while (!state_.compare_exchange_weak(s, s | owned, std::memory_order_acq_rel,
                                         std::memory_order_relaxed));
  return true;
}

void timeline::disown() noexcept {
  state_.fetch_and(~owned);
  if (completed_.load() < submitted_.load()) {
    make_ready();
  } else if (release_when_drained_.load()) {
    recycle_if_drained();
  }
}

void timeline::park() noexcept {
  std::uint32_t s = state_.load(std::memory_order_relaxed);
  while (!state_.compare_exchange_weak(s, (s & ~owned) | parked, std::memory_order_acq_rel,
                                       std::memory_order_relaxed)) {
  }
}

void timeline::own_parked() noexcept {
  std::uint32_t s = state_.load(std::memory_order_relaxed);
  while (!state_.compare_exchange_weak(s, (s & ~parked) | owned, std::memory_order_acq_rel,
                                       std::memory_order_relaxed)) {
  }
}

void timeline::unpark() noexcept {
  blocked_line_.store(nullptr, std::memory_order_relaxed);
  watched_word_.store(nullptr, std::memory_order_relaxed);
  state_.fetch_and(~parked);
  if (!run_next_slot::of_this_thread().try_store(*this)) make_ready();
}

// Before anything that takes long: others may go on with what this thread has kept for itself.
void timeline::enqueue_run_next() noexcept {
  if (timeline* next = run_next_slot::of_this_thread().take()) next->make_ready();
}

point timeline::blocked_on() const noexcept {
  // The two may be of different waits; whoever follows them looks again at what it really waits
  // for.
  if (timeline* line = blocked_line_.load(std::memory_order_acquire)) {
    return {line, blocked_count_.load(std::memory_order_acquire)};
  }
  const void* word = watched_word();
  return word == nullptr ? point{} : pending_value_writes::last_write(word);
}

// Parks on a point, unless it was reached meanwhile, or there is no memory to note that down: the
// caller is the owner again.
timeline::park_result timeline::park_on(point target) noexcept {
  blocked_count_.store(target.count, std::memory_order_relaxed);
  blocked_line_.store(target.line, std::memory_order_release);
  park();
  park_result result = park_result::reached;
  try {
    if (target.line->add_waiter({target.count, this, nullptr})) return park_result::parked;
  } catch (const std::bad_alloc&) {
    result = park_result::out_of_memory;
  }
  blocked_line_.store(nullptr, std::memory_order_relaxed);
  own_parked();
  return result;
}

// The same for a value.
bool timeline::park_on_value(operation& op) noexcept {
  watched_word_.store(op.as<const void*>(), std::memory_order_relaxed);
  park();
  if (value_waiters::instance().add(*this)) return true;
  watched_word_.store(nullptr, std::memory_order_relaxed);
  own_parked();
  return false;
}

bool timeline::value_reached() noexcept {
  operation& op = queue_.front();
  return op.body(op) || device_failure() != abi::CUDA_SUCCESS;
}

// Does not order the two accesses: one that begins to wait at this very moment may be missed here,
// and is seen by publish_seq_cst(), which does and runs before anything that takes long and when
// the owner stops.
void timeline::publish(std::uint64_t count) noexcept {
  completed_.store(count, std::memory_order_release);
  if (wake_at_.load(std::memory_order_relaxed) <= count) wake_waiters();
}

void timeline::publish_seq_cst(std::uint64_t count) noexcept {
  completed_.store(count);
  if (wake_at_.load() <= count) wake_waiters();
}

// Who runs what takes long, or is the program's own code?
bool timeline::may_run(runner_kind role, operation_kind kind) noexcept {
  if (kind == operation_kind::host) return role == runner_kind::host_thread;
  return role == runner_kind::worker || role == runner_kind::helper;
}

stop_reason timeline::run(runner_kind role, std::uint64_t limit, std::uint32_t extra) noexcept {
  scheduler& sched = scheduler::instance();
  std::uint64_t done = completed_.load(std::memory_order_relaxed);
  std::uint64_t available = submitted_.load(std::memory_order_acquire);
  stop_reason reason = stop_reason::limit;
  const std::uint64_t farthest = limit + extra;
  while (done < farthest) {
    if (done == available && (available = submitted_.load(std::memory_order_acquire)) == done) {
      reason = stop_reason::drained;
      break;
    }
    operation& op = queue_.front();
    const bool failed = device_failure() != abi::CUDA_SUCCESS;
    if (op.kind != operation_kind::work) [[unlikely]] {
      if (done >= limit) break;
      publish_seq_cst(done);
      if (op.kind == operation_kind::wait_point) {
        const point target = op.as<point>();
        const park_result result = target.reached() ? park_result::reached : park_on(target);
        if (result == park_result::out_of_memory) disown();  // whoever comes tries again
        if (result != park_result::reached) return stop_reason::blocked;
        op.body = nullptr;
      } else if (op.kind == operation_kind::wait_value) {
        if (!failed && !op.body(op) && park_on_value(op)) return stop_reason::blocked;
        op.body = nullptr;
      } else if (!may_run(role, op.kind) && (op.runs_after_failure || !failed)) {
        if (op.kind == operation_kind::host) {
          park();
          sched.offload_to_host_thread(*this);
        } else if (role == runner_kind::step) {
          park();
          sched.offload_to_long_work_thread(*this);
          return stop_reason::offloaded;
        } else {
          disown();
        }
        return stop_reason::host;
      }
    }
    if (op.kind == operation_kind::long_work || op.kind == operation_kind::host) enqueue_run_next();
    if (op.body != nullptr && (!failed || op.runs_after_failure)) op.body(op);
    queue_.pop();
    publish(++done);
  }
  if (done >= limit && done == submitted_.load(std::memory_order_relaxed))
    reason = stop_reason::drained;
  publish_seq_cst(done);
  disown();
  return reason;
}

}  // namespace weir::embedded::engine
