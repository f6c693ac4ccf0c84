// reactor/wait.cpp - threads that block until a point is settled.
#include "reactor/wait.hpp"

#include "os/futex.hpp"
#include "os/clock.hpp"
#include "reactor/reactor.hpp"
#include "reactor/sleeping_thread.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>

namespace weir::detail {
namespace {

constexpr long long forever = 0x7fff'ffff'ffff'ffff;
constexpr long long longest_nap = 500'000;
constexpr std::uint32_t told_bit = 1;

struct sleeper : completion_waiter {
  std::atomic<std::uint32_t> woken{0};
};

// The sleeper may be gone as soon as the word is set; waking a word that is nobody's does no harm.
void wake(completion_waiter& self, errc) noexcept {
  auto& word = static_cast<sleeper&>(self).woken;
  word.fetch_or(told_bit, std::memory_order_release);
  futex_wake(word, 1);
}

// Asks with naps in between: for threads that nobody can wake, and those without which nothing goes on.
errc keep_asking(lane& where, std::uint64_t ticket, long long deadline) noexcept {
  const long long begin = steady_nanoseconds();
  std::atomic<std::uint32_t> nobody{0};
  for (;;) {
    static_cast<void>(where.home().drive(callers::any));
    static_cast<void>(where.help_engine(ticket));
    const errc outcome = where.ask_unless_asked(ticket);
    const long long now = steady_nanoseconds();
    if (outcome != errc::not_ready) return outcome;
    if (now >= deadline) return where.ask(ticket);
    const long long nap = std::min(std::min((now - begin) / 8, longest_nap), deadline - now);
    futex_wait_for(nobody, 0, std::chrono::nanoseconds{nap});
  }
}

// Until it is told: true. False if the time has passed first, or nobody is left to tell it; then it waits no more.
bool sleep(sleeper& me, lane& where, long long deadline) noexcept {
  const sleeping_thread here{me.woken};
  for (;;) {
    const std::uint32_t seen = me.woken.load(std::memory_order_acquire);
    if ((seen & told_bit) != 0) return true;
    const long long left = deadline == forever ? forever : deadline - steady_nanoseconds();
    if ((left <= 0 || reactor::is_left_to_this_thread()) && where.remove(me)) return false;
    if (left <= 0 || deadline == forever) {
      futex_wait(me.woken, seen);  // without time left it is just being told
    } else {
      futex_wait_for(me.woken, seen, std::chrono::nanoseconds{left});
    }
  }
}

errc sleep_until_told(lane& where, std::uint64_t ticket, long long deadline) {
  reactor& home = where.home();
  const bool is_asked = !where.is_told();  // in this life
  home.start_thread();
  sleeper me;
  me.told = &wake;
  me.by = teller::any;
  if (!where.add(me, ticket)) return me.outcome;
  if (is_asked) home.need_asleep(1);
  const bool told = sleep(me, where, deadline);
  if (is_asked) home.need_asleep(-1);
  if (told) return me.outcome;
  return reactor::is_left_to_this_thread() ? keep_asking(where, ticket, deadline) : errc::not_ready;
}

// Asks for as long as that pays, and then sleeps. One that has been awake for the engine sleeps at once.
errc ask_and_sleep(lane& where, std::uint64_t ticket, long long timeout, bool was_awake) noexcept {
  const long long begin = steady_nanoseconds();
  const long long deadline = deadline_after(timeout);
  spin_budget& budget = where.home().budget;
  unsigned spins = 0;
  auto of_this_thread = lane::help::of_no_use;
  for (;;) {
    if (where.is_told()) of_this_thread = where.help_engine(ticket);
    const errc outcome = where.ask_unless_asked(ticket);
    if (outcome != errc::not_ready) return outcome;
    const long long now = steady_nanoseconds();
    if (now >= deadline) {
      budget.learn_vain(now - begin);
      return where.ask(ticket);
    }
    if (was_awake || now - begin >= budget.nanoseconds()) break;
    spin_on(spins, where.is_told(), now - begin);
  }
  if (reactor::is_left_to_this_thread() || of_this_thread == lane::help::alone)
    return keep_asking(where, ticket, deadline);
  errc outcome = errc::not_ready;
  try {
    outcome = sleep_until_told(where, ticket, deadline);
  } catch (const std::exception&) {
    return keep_asking(where, ticket, deadline);
  }
  if (was_awake) return outcome;
  if (outcome != errc::not_ready) {
    budget.learn(steady_nanoseconds() - begin);
  } else {
    budget.learn_vain(steady_nanoseconds() - begin);
  }
  return outcome;
}

}  // namespace

errc wait_until_settled(lane& where, std::uint64_t ticket, long long timeout) noexcept {
  const errc known = where.ask(ticket);
  if (known != errc::not_ready || timeout <= 0) return known;
  const lane::engine_point in_engine =
      where.is_told() && timeout == forever ? where.in_engine(ticket) : lane::engine_point{};
  if (in_engine.engine == nullptr) return ask_and_sleep(where, ticket, timeout, false);
  const bool is_noted = in_engine.engine->wait_awake(in_engine.what);
  errc outcome = where.ask(ticket);
  if (outcome == errc::not_ready) outcome = ask_and_sleep(where, ticket, timeout, true);
  if (outcome == errc::success && !is_noted) static_cast<void>(in_engine.engine->wait_awake(in_engine.what));
  return outcome;
}

}  // namespace weir::detail
