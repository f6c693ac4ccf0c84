// SPDX-License-Identifier: Apache-2.0
// reactor/blocking_wait.cpp - blocks a thread until a point is complete.
#include "reactor/blocking_wait.hpp"

#include "os/clock.hpp"
#include "os/futex.hpp"
#include "os/poll_until.hpp"
#include "reactor/reactor.hpp"
#include "reactor/spin_budget.hpp"

#include <weir/detail/duration.hpp>

#include <chrono>
#include <system_error>

namespace weir::detail {
namespace {

// Set in sleeper::woken when the point is complete. sleeping_thread::wake_all() changes only the
// other bits.
constexpr std::uint32_t completed_bit = 1;

struct sleeper : completion_waiter {
  std::atomic<std::uint32_t> woken{0};
};

// Called when the point is complete. The sleeper may be destroyed as soon as the bit is set.
// futex_wake() then uses only the address of its word, and wakes no thread if none sleeps there.
void wake(completion_waiter& self, errc) noexcept {
  auto& word = static_cast<sleeper&>(self).woken;
  word.fetch_or(completed_bit, std::memory_order_release);
  os::futex_wake(word, 1);
}

// Drives the work and polls it. Used if no other thread can wake the calling thread, or if the
// calling thread has to drive the work itself.
errc poll_until_deadline(completion_queue& queue, std::uint64_t ticket,
                         long long deadline) noexcept {
  const auto drive = [&] {
    static_cast<void>(queue.owner().run_once(caller_kind::other));
    static_cast<void>(queue.help_engine(ticket));
    return queue.try_query(ticket);
  };
  const long long timeout = deadline - os::steady_nanoseconds();
  const errc outcome = os::poll_until(timeout, errc::not_ready, drive);
  return outcome != errc::not_ready ? outcome : queue.query(ticket);
}

// Sleeps until the sleeper is notified and returns true. Returns false, with the sleeper removed
// from the queue, after the deadline or if no thread is left that would notify it.
bool sleep(sleeper& me, completion_queue& queue, long long deadline) noexcept {
  const sleeping_thread listed{me.woken};
  for (;;) {
    const std::uint32_t seen = me.woken.load(std::memory_order_acquire);
    if ((seen & completed_bit) != 0) return true;
    const long long remaining = deadline == forever ? forever : deadline - os::steady_nanoseconds();
    if ((remaining <= 0 || reactor::this_thread_must_drive()) && queue.remove(me)) return false;
    if (remaining <= 0 || deadline == forever) {
      os::futex_wait(
          me.woken, seen);  // after the deadline: remove() failed, so the notification is under way
    } else {
      os::futex_wait_for(me.woken, seen, std::chrono::nanoseconds{remaining});
    }
  }
}

errc sleep_until_notified(completion_queue& queue, std::uint64_t ticket, long long deadline) {
  reactor& owner = queue.owner();
  const bool needs_polling = !queue.uses_engine();  // read once: it may change with the generation
  owner.start_thread();
  sleeper me;
  me.on_complete = &wake;
  me.policy = resume_policy::any_thread;
  if (!queue.add(me, ticket)) return me.outcome;
  if (needs_polling) owner.adjust_sleeping_demand(1);
  const bool notified = sleep(me, queue, deadline);
  if (needs_polling) owner.adjust_sleeping_demand(-1);
  if (notified) return me.outcome;
  return reactor::this_thread_must_drive() ? poll_until_deadline(queue, ticket, deadline)
                                           : errc::not_ready;
}

// Polls with short pauses until the spin budget is used up, and then sleeps. A thread that has just
// spun in the embedded driver's engine (`has_spun_in_engine`) sleeps after the first poll.
//
// The spin budget learns from sleeps and timeouts: a wait that ends while this function spins shows
// that the budget is long enough. After a spin in the engine, the time here is not that of the
// wait.
errc spin_then_sleep(completion_queue& queue, std::uint64_t ticket, long long timeout,
                     bool has_spun_in_engine) noexcept {
  const long long begin = os::steady_nanoseconds();
  const long long deadline = os::deadline_after(timeout);
  spin_budget& budget = queue.owner().budget;
  unsigned spins = 0;
  auto help_state = completion_queue::engine_help::not_needed;
  for (;;) {
    if (queue.uses_engine()) help_state = queue.help_engine(ticket);
    const errc outcome = queue.try_query(ticket);
    if (outcome != errc::not_ready) return outcome;
    const long long now = os::steady_nanoseconds();
    if (now >= deadline) {
      budget.record_timeout(now - begin);
      return queue.query(ticket);
    }
    if (has_spun_in_engine || now - begin >= budget.nanoseconds()) break;
    spin_pause(spins, queue.uses_engine(), now - begin);
  }
  if (reactor::this_thread_must_drive() || help_state == completion_queue::engine_help::exclusive)
    return poll_until_deadline(queue, ticket, deadline);
  errc outcome = errc::not_ready;
  try {
    outcome = sleep_until_notified(queue, ticket, deadline);
  } catch (const std::exception&) {
    return poll_until_deadline(queue, ticket, deadline);
  }
  if (has_spun_in_engine) return outcome;
  if (outcome != errc::not_ready) {
    budget.record_wait(os::steady_nanoseconds() - begin);
  } else {
    budget.record_timeout(os::steady_nanoseconds() - begin);
  }
  return outcome;
}

}  // namespace

errc wait_until_complete(completion_queue& queue, std::uint64_t ticket,
                         long long timeout) noexcept {
  const errc status = queue.query(ticket);
  if (status != errc::not_ready || timeout <= 0) return status;
  // wait_spinning() may spin past a short deadline, so it is used only without a timeout.
  const completion_queue::engine_point engine_point = queue.uses_engine() && timeout == forever
                                                          ? queue.engine_point_of(ticket)
                                                          : completion_queue::engine_point{};
  if (engine_point.engine == nullptr) return spin_then_sleep(queue, ticket, timeout, false);
  const bool was_reported = engine_point.engine->wait_spinning(engine_point.point);
  errc outcome = queue.query(ticket);
  if (outcome == errc::not_ready) outcome = spin_then_sleep(queue, ticket, timeout, true);
  // The engine records that the host has waited for the point, if wait_spinning() returns true. A
  // wait that ended elsewhere is reported by another call.
  if (outcome == errc::success && !was_reported)
    static_cast<void>(engine_point.engine->wait_spinning(engine_point.point));
  return outcome;
}

}  // namespace weir::detail
