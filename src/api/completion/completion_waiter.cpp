// api/completion/completion_waiter.cpp - lanes, as public headers know them.
#include <weir/detail/completion_waiter.hpp>

#include "api/core/guard.hpp"
#include "os/forked_child.hpp"
#include "reactor/lane.hpp"
#include "reactor/reactor.hpp"
#include "reactor/waiter_list.hpp"

namespace weir::detail {
namespace {

reactor& home_of(lane* where) { return where != nullptr ? where->home() : reactor::of(0); }

}  // namespace

errc known_outcome(const lane& where, unsigned long long ticket) noexcept {
  return in_forked_child() ? errc::not_initialized : where.known(ticket);
}

errc ask_outcome(lane& where, unsigned long long ticket) noexcept {
  const errc known = known_outcome(where, ticket);
  if (known != errc::not_ready || inside_host_function) return known;
  return where.ask(ticket);
}

errc ask_unless_others_do(lane& where, unsigned long long ticket) noexcept {
  const errc known = known_outcome(where, ticket);
  if (known != errc::not_ready || inside_host_function || where.is_being_asked(ticket)) return known;
  return where.ask(ticket);
}

bool add_waiter(lane& where, unsigned long long ticket, completion_waiter& who) {
  if (in_forked_child()) {
    who.outcome = errc::not_initialized;
    return false;
  }
  where.home().start_thread();
  who.loop = nullptr;
  return where.add(who, ticket);
}

bool take_back(lane& where, completion_waiter& who) noexcept { return !in_forked_child() && where.remove(who); }

void begin_telling(lane* where) {
  if (in_forked_child()) return;
  static_cast<void>(driver());  // there may be none yet
  home_of(where).start_thread();
}

void tell_soon(lane* where, completion_waiter& who) {
  if (in_forked_child()) {
    who.told(who, who.outcome);
    return;
  }
  begin_telling(where);
  waiter_list now;
  now.append(who);
  home_of(where).deliver(now, callers::any);
}

}  // namespace weir::detail
