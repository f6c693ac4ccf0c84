// SPDX-License-Identifier: Apache-2.0
// embedded/engine/timeline.cpp - the pool of timelines; operations submitted and run in order;
// waiters and their wake-up.
#include "embedded/engine/timeline.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>
#include <new>
#include <vector>

#include "embedded/engine/pending_value_writes.hpp"
#include "embedded/engine/run_next_slot.hpp"
#include "embedded/engine/scheduler.hpp"
#include "embedded/engine/value_waiters.hpp"
#include "embedded/engine/waiting.hpp"
#include "os/futex.hpp"
#include "os/spin_lock.hpp"

namespace weir::embedded::engine {

namespace {

// Timelines that are not in use.
struct timeline_pool {
  detail::spin_lock lock;
  std::vector<timeline*> free;
  std::size_t all = 0;
};

timeline_pool& pool() {
  static auto* const pool = new timeline_pool;
  return *pool;
}

}  // namespace

timeline& timeline::acquire() {
  timeline_pool& p = pool();
  {
    const std::lock_guard lock{p.lock};
    if (!p.free.empty()) {
      timeline* line = p.free.back();
      p.free.pop_back();
      line->submitting_.reset_bias();
      return *line;
    }
    p.free.reserve(++p.all);  // so that returning one cannot fail
  }
  return *new timeline;
}

void timeline::release_when_drained() {
  release_when_drained_.store(true);
  recycle_if_drained();
}

void timeline::recycle_if_drained() noexcept {
  // Sequentially consistent: pairs with release_when_drained() and disown(), each of which reads
  // what the other writes.
  const auto nothing_left = [&] { return completed_.load() >= submitted_.load(); };
  while (nothing_left() && release_when_drained_.exchange(false)) {
    if (nothing_left()) {
      timeline_pool& p = pool();
      const std::lock_guard lock{p.lock};
      p.free.push_back(this);
      return;
    }
    // Between the check and the exchange, another thread returned the timeline, and the request
    // belongs to its next user, whose work is not done.
    release_when_drained_.store(true);
  }
}

timeline::submission::~submission() {
  const std::uint64_t end = line_.queue_.pushed();
  const bool has_additions = end != line_.submitted_.load(std::memory_order_relaxed);
  // Sequentially consistent: pairs with the owner, which checks for more work after it has released
  // the timeline (disown).
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
  std::uint64_t known_count = known_to_host_.load(std::memory_order_relaxed);
  while (known_count < count &&
         !known_to_host_.compare_exchange_weak(known_count, count, std::memory_order_acq_rel)) {
  }
}

void timeline::make_ready() noexcept {
  scheduler& s = scheduler::instance();
  // The deterministic scheduler keeps it in its list until it is drained.
  if (s.is_deterministic()) return;
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
  // Sequentially consistent: a submitter that still finds the timeline queued relies on the worker
  // that has just dequeued it.
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

// Called before anything that takes long: makes the timeline that this thread has kept available to
// other threads.
void timeline::enqueue_run_next() noexcept {
  if (timeline* next = run_next_slot::of_this_thread().take()) next->make_ready();
}

point timeline::blocked_on() const noexcept {
  // The two values may belong to different waits. Callers check again what the timeline waits for.
  if (timeline* line = blocked_line_.load(std::memory_order_acquire)) {
    return {line, blocked_count_.load(std::memory_order_acquire)};
  }
  const void* word = watched_word();
  return word == nullptr ? point{} : pending_value_writes::last_write(word);
}

// Parks on a point. If the point is reached during the call, or there is no memory to register the
// wait, the caller stays the owner.
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

// Parks on the value of a word. Returns false, with the caller as owner again, if the value is
// reached.
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

// Does not order the store and the load, so it may miss a thread that begins to wait at this
// moment. publish_seq_cst() orders them; it runs before anything that takes long and when the owner
// stops.
void timeline::publish(std::uint64_t count) noexcept {
  completed_.store(count, std::memory_order_release);
  if (wake_at_.load(std::memory_order_relaxed) <= count) wake_waiters();
}

void timeline::publish_seq_cst(std::uint64_t count) noexcept {
  completed_.store(count);
  if (wake_at_.load() <= count) wake_waiters();
}

// Returns true if a thread of this role may run long work or a host function.
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
        // The next thread that runs it tries again.
        if (result == park_result::out_of_memory) disown();
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

constinit std::atomic<long> timeline::notices_{0};

bool timeline::add_waiter(const waiter& entry) {
  const std::lock_guard lock{waiters_lock_};
  waiters_.push_back(entry);
  const std::uint64_t before = wake_at_.load(std::memory_order_relaxed);
  // Sequentially consistent with the load that follows: pairs with publish_seq_cst().
  wake_at_.store(std::min(before, entry.count));
  if (completed_.load() < entry.count) return true;
  waiters_.pop_back();
  wake_at_.store(before);
  return false;
}

bool timeline::add_sleeper(sleeper& thread, std::uint64_t count) {
  return add_waiter({count, nullptr, &thread});
}

void timeline::remove_sleeper(sleeper& thread) noexcept {
  const std::lock_guard lock{waiters_lock_};
  std::erase_if(waiters_, [&](const waiter& w) { return w.thread == &thread; });
}

bool timeline::add_notice(detail::engine_callback& notice, std::uint64_t count) {
  notices_.fetch_add(1, std::memory_order_relaxed);
  bool is_added = false;
  try {
    is_added = add_waiter({count, nullptr, nullptr, &notice});
  } catch (...) {
    notices_.fetch_sub(1, std::memory_order_relaxed);
    throw;
  }
  if (!is_added) notices_.fetch_sub(1, std::memory_order_relaxed);
  return is_added;
}

bool timeline::remove_notice(detail::engine_callback& notice) noexcept {
  const std::lock_guard lock{waiters_lock_};
  if (std::erase_if(waiters_, [&](const waiter& w) { return w.notice == &notice; }) == 0)
    return false;
  notices_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

void timeline::wake_waiters() noexcept {
  constexpr std::size_t batch = 16;
  std::array<timeline*, batch> ready;
  std::array<detail::engine_callback*, batch> due_notices;
  for (bool more = true; more;) {
    std::size_t count = 0;
    std::size_t notices = 0;
    more = false;
    {
      const std::lock_guard lock{waiters_lock_};
      const std::uint64_t reached = completed_.load(std::memory_order_relaxed);
      std::uint64_t next = never;
      std::size_t remaining = 0;
      for (const waiter& w : waiters_) {
        const bool fits =
            (w.line == nullptr || count < batch) && (w.notice == nullptr || notices < batch);
        if (w.count > reached || !fits) {
          more = more || w.count <= reached;
          next = std::min(next, w.count);
          waiters_[remaining++] = w;
        } else if (w.line != nullptr) {
          ready[count++] = w.line;
        } else if (w.notice != nullptr) {
          due_notices[notices++] = w.notice;
          notices_.fetch_sub(1, std::memory_order_relaxed);
        } else {
          // With the lock held: a sleeping thread locks it before it returns, so its word still
          // exists during the wake-up.
          w.thread->woken.store(1, std::memory_order_release);
          detail::futex_wake(w.thread->woken, 1);
        }
      }
      waiters_.resize(remaining);
      wake_at_.store(next);
    }
    for (std::size_t i = 0; i < notices; ++i) due_notices[i]->reached(*due_notices[i]);
    for (std::size_t i = 0; i < count; ++i) ready[i]->unpark();
  }
}

}  // namespace weir::embedded::engine
