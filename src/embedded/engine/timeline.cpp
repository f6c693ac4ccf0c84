// SPDX-License-Identifier: Apache-2.0
// embedded/engine/timeline.cpp - the pool of timelines; operations submitted and run in order;
// waiters and their wake-up.
#include "embedded/engine/timeline.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>
#include <new>
#include <span>
#include <vector>

#include "embedded/engine/deterministic_scheduler.hpp"
#include "embedded/engine/pending_value_writes.hpp"
#include "embedded/engine/run_next_slot.hpp"
#include "embedded/engine/scheduler.hpp"
#include "embedded/engine/value_waiters.hpp"
#include "embedded/engine/waiting.hpp"
#include "os/spin_lock.hpp"

namespace weir::embedded::engine {

namespace {

// Timelines that are not in use.
struct timeline_pool {
  os::spin_lock lock;
  std::vector<timeline*> free;
  std::size_t created_count = 0;
};

timeline_pool& unused_timelines() {
  static auto* const pool = new timeline_pool;
  return *pool;
}

}  // namespace

timeline& timeline::acquire() {
  {
    const std::lock_guard lock{unused_timelines().lock};
    std::vector<timeline*>& free = unused_timelines().free;
    if (!free.empty()) {
      timeline* line = free.back();
      free.pop_back();
      line->submission_lock_.reset_bias();
      line->schedule_number = 0;
      line->priority = 0;
      return *line;
    }
    free.reserve(++unused_timelines().created_count);  // so that returning one cannot fail
  }
  return *new timeline;
}

void timeline::release_when_drained() {
  release_when_drained_.store(true);
  recycle_if_drained();
}

// Returns a drained timeline to the pool if that was requested.
void timeline::recycle_if_drained() noexcept {
  // Sequentially consistent: pairs with release_when_drained() and disown(), each of which reads
  // what the other writes.
  const auto is_drained = [&] { return completed_.load() >= submitted_.load(); };
  while (is_drained() && release_when_drained_.exchange(false)) {
    if (is_drained()) {
      const std::lock_guard lock{unused_timelines().lock};
      unused_timelines().free.push_back(this);
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
  if (deterministic_scheduler* const steps = scheduler::instance().deterministic()) {
    steps->on_submit(line_);
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
  scheduler& sched = scheduler::instance();
  // The deterministic scheduler keeps the timeline in its own list until it is drained.
  if (sched.deterministic() != nullptr) return;
  if (mark_queued()) sched.enqueue(*this);
}

bool timeline::mark_queued() noexcept {
  std::uint32_t state = state_.load();
  do {
    if ((state & (queued | owned | parked)) != 0) return false;
  } while (!state_.compare_exchange_weak(state, state | queued));
  return true;
}

bool timeline::unmark_queued() noexcept {
  state_.fetch_and(~queued);
  return completed_.load() < submitted_.load() && mark_queued();
}

bool timeline::try_own() noexcept {
  // The load of submitted_ is sequentially consistent. It pairs with a submitter, which stores
  // submitted_ and then reads state_. A submitter that still reads `queued` there does not queue
  // the timeline again, so the worker that has just cleared `queued` has to see its operations
  // here.
  if (completed_.load(std::memory_order_relaxed) >= submitted_.load()) return false;
  std::uint32_t state = state_.load(std::memory_order_relaxed);
  do {
    if ((state & (owned | parked)) != 0) return false;
  } while (!state_.compare_exchange_weak(state, state | owned, std::memory_order_acq_rel,
                                         std::memory_order_relaxed));
  return true;
}

// Ends the ownership. Makes the timeline ready again if work was submitted since the owner checked
// last.
void timeline::disown() noexcept {
  state_.fetch_and(~owned);
  if (completed_.load() < submitted_.load()) {
    make_ready();
  } else if (release_when_drained_.load()) {
    recycle_if_drained();
  }
}

// Clears one bit of the state and sets another, as one atomic step.
void timeline::replace_state(std::uint32_t cleared, std::uint32_t set) noexcept {
  std::uint32_t state = state_.load(std::memory_order_relaxed);
  while (!state_.compare_exchange_weak(state, (state & ~cleared) | set, std::memory_order_acq_rel,
                                       std::memory_order_relaxed)) {
  }
}

void timeline::unpark() noexcept {
  blocked_line_.store(nullptr, std::memory_order_relaxed);
  watched_word_.store(nullptr, std::memory_order_relaxed);
  state_.fetch_and(~parked);
  if (!run_next_slot::of_this_thread().try_store(*this)) make_ready();
}

void timeline::unpark_all(timeline* first) noexcept {
  while (first != nullptr) {
    timeline& line = *first;
    first = line.next_parked;  // before another thread can park the timeline again
    line.unpark();
  }
}

// Called before anything that takes long: passes the timeline in this thread's run_next_slot to the
// workers.
void timeline::enqueue_run_next() noexcept {
  if (timeline* next = run_next_slot::of_this_thread().take_timeline()) next->make_ready();
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

// Parks until the word that `op`, a wait for a value, waits for has its value. The operation's data
// begins with the address of the word. Returns false, with the caller as owner again, if the value
// is reached already or the device has failed.
bool timeline::park_on_value(operation& op) noexcept {
  watched_word_.store(op.as<const void*>(), std::memory_order_relaxed);
  park();
  if (add_value_waiter(*this)) return true;
  watched_word_.store(nullptr, std::memory_order_relaxed);
  own_parked();
  return false;
}

bool timeline::value_reached() noexcept {
  operation& op = queue_.front();
  return op.body(op) || device_failure() != abi::CUDA_SUCCESS;
}

// Does not order the store and the load, so it may miss a thread that begins to wait at this
// moment. publish_completed_seq_cst() orders them; it is called before anything that takes long and
// when the owner stops.
void timeline::publish_completed(std::uint64_t count) noexcept {
  completed_.store(count, std::memory_order_release);
  if (lowest_waited_count_.load(std::memory_order_relaxed) <= count) wake_waiters();
}

void timeline::publish_completed_seq_cst(std::uint64_t count) noexcept {
  completed_.store(count);
  if (lowest_waited_count_.load() <= count) wake_waiters();
}

namespace {

// Returns true if the operation does not run because the device has failed.
bool is_skipped(const operation& op) noexcept {
  return !op.runs_after_failure && device_failure() != abi::CUDA_SUCCESS;
}

}  // namespace

// Passes a host function, or long work, to a thread that may run it. Returns nothing if the caller
// may run it, or if it is skipped. Otherwise the caller is no longer the owner.
std::optional<stop_reason> timeline::hand_over(const operation& op, runner_kind role) noexcept {
  if (is_skipped(op)) return std::nullopt;
  if (op.kind == operation_kind::host) {
    if (role == runner_kind::host_thread) return std::nullopt;
    park();
    scheduler::instance().offload(*this, offload_target::host_thread);
    return stop_reason::host;
  }
  if (role == runner_kind::worker || role == runner_kind::helper) return std::nullopt;
  if (role == runner_kind::step) {
    park();
    scheduler::instance().offload(*this, offload_target::long_work_threads);
    return stop_reason::offloaded;
  }
  disown();  // makes the timeline ready for the workers
  return stop_reason::host;
}

// Checks an operation of any kind but `work`. Returns why the caller has to stop before it; the
// caller is then no longer the owner. Clears the body of a wait that has ended, so that run() does
// not call it.
std::optional<stop_reason> timeline::stop_before(operation& op, runner_kind role) noexcept {
  if (op.kind == operation_kind::wait_point) {
    const point target = op.as<point>();
    const park_result result = target.reached() ? park_result::reached : park_on(target);
    // The next thread that runs the timeline tries again.
    if (result == park_result::out_of_memory) disown();
    if (result != park_result::reached) return stop_reason::blocked;
  } else if (op.kind == operation_kind::wait_value) {
    const bool is_over = device_failure() != abi::CUDA_SUCCESS || op.body(op);
    if (!is_over && park_on_value(op)) return stop_reason::blocked;
  } else {
    return hand_over(op, role);
  }
  op.body = nullptr;
  return std::nullopt;
}

stop_reason timeline::run(runner_kind role, std::uint64_t limit, std::uint32_t max_extra) noexcept {
  std::uint64_t done = completed_.load(std::memory_order_relaxed);
  std::uint64_t available = submitted_.load(std::memory_order_acquire);
  stop_reason reason = stop_reason::limit;
  while (done < limit + max_extra) {
    if (done == available && (available = submitted_.load(std::memory_order_acquire)) == done) {
      reason = stop_reason::drained;
      break;
    }
    operation& op = queue_.front();
    if (op.kind != operation_kind::work) [[unlikely]] {
      if (done >= limit) break;
      publish_completed_seq_cst(done);
      if (const std::optional<stop_reason> stop = stop_before(op, role)) return *stop;
      if (op.kind == operation_kind::long_work || op.kind == operation_kind::host)
        enqueue_run_next();
    }
    if (op.body != nullptr && !is_skipped(op)) op.body(op);
    // The streams take turns: the next host function of this one is passed on behind the others.
    if (op.kind == operation_kind::host && role == runner_kind::host_thread)
      role = runner_kind::host_thread_after_function;
    queue_.pop();
    publish_completed(++done);
  }
  if (done >= limit && done == submitted_.load(std::memory_order_relaxed))
    reason = stop_reason::drained;
  publish_completed_seq_cst(done);
  disown();
  return reason;
}

constinit std::atomic<long> timeline::callback_count_{0};

// Returns false, without adding the waiter, if its count is reached.
bool timeline::add_waiter(const waiter& added) {
  const std::lock_guard lock{waiters_lock_};
  waiters_.push_back(added);
  const std::uint64_t lowest_before = lowest_waited_count_.load(std::memory_order_relaxed);
  // Sequentially consistent with the load that follows: pairs with publish_completed_seq_cst().
  lowest_waited_count_.store(std::min(lowest_before, added.count));
  if (completed_.load() < added.count) {
    if (added.callback != nullptr) callback_count_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  waiters_.pop_back();
  lowest_waited_count_.store(lowest_before);
  return false;
}

bool timeline::add_callback(detail::engine_callback& callback, std::uint64_t count) {
  return add_waiter({count, nullptr, &callback});
}

bool timeline::remove_callback(detail::engine_callback& callback) noexcept {
  const std::lock_guard lock{waiters_lock_};
  if (std::erase_if(waiters_, [&](const waiter& w) { return w.callback == &callback; }) == 0)
    return false;
  callback_count_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

// Wakes all waiters whose count is reached. Calls callbacks and unparks timelines without the lock,
// because either may start workers. Calls all callbacks first, because program threads wait for
// them.
void timeline::wake_waiters() noexcept {
  std::array<detail::engine_callback*, 16> batch;
  std::size_t count = batch.size();
  timeline* first_ready = nullptr;
  timeline** link = &first_ready;
  while (count == batch.size()) {
    count = 0;
    {
      const std::lock_guard lock{waiters_lock_};
      const std::uint64_t reached = completed_.load(std::memory_order_relaxed);
      std::uint64_t next = never;
      std::erase_if(waiters_, [&](const waiter& w) {
        const bool is_due = w.count <= reached && (w.line != nullptr || count < batch.size());
        if (!is_due) {
          next = std::min(next, w.count);
        } else if (w.line != nullptr) {
          *link = w.line;
          link = &w.line->next_parked;
        } else {
          batch[count++] = w.callback;
        }
        return is_due;
      });
      lowest_waited_count_.store(next);
    }
    for (detail::engine_callback* const due : std::span{batch}.first(count)) {
      callback_count_.fetch_sub(1, std::memory_order_relaxed);
      due->reached(*due);
    }
  }
  *link = nullptr;
  unpark_all(first_ready);
}

}  // namespace weir::embedded::engine
