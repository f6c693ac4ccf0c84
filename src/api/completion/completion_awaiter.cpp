// api/completion/completion_awaiter.cpp - coroutines, and function objects, that wait for a completion.
#include <weir/completion/completion.hpp>
#include <weir/detail/completion_awaiter.hpp>
#include <weir/stream/stream.hpp>

#include "api/core/check.hpp"
#include "api/completion/completion_access.hpp"
#include "api/stream/directly.hpp"
#include "api/stream/host_failures.hpp"
#include "api/core/unraised.hpp"
#include "os/forked_child.hpp"
#include "reactor/reactor.hpp"

namespace weir::detail {
namespace {

// As host_failures.hpp knows it, also on other threads than that which asked for the completion.
stream_identity identity_of(const lane_place& place) noexcept {
  if (place.stream == CU_STREAM_PER_THREAD) return {place.stream, place.identity};
  if (is_legacy(place.stream)) return {CU_STREAM_LEGACY, device_address(place.context)};
  return identify(place.stream);
}

}  // namespace

void throw_outcome(const lane* where, unsigned long long ticket, errc outcome, const char* call, call_site at) {
  if (outcome == errc::success && host_failures_waiting.load(std::memory_order_acquire) == 0) [[likely]] {
    return;
  }
  const bool has_stream = where != nullptr && !in_forked_child();  // whose locks may be held by nobody
  const lane_place place = has_stream ? where->place_of(ticket) : lane_place{};
  if (outcome == errc::success) {
    if (is_open(place.stream)) throw_host_failures(identity_of(place));
    return;
  }
  fail(outcome, call, is_open(place.stream) ? subject{stream_ref{place.stream}} : subject{}, at);
}

limited_awaiter::limited_awaiter(const completion& awaited, long long nanoseconds, call_site at) noexcept
    : joint_wait{enough::all, nanoseconds}, at_{at} {
  set(point_, awaited);
}

bool limited_awaiter::await_resume() const {
  if (how() == joint_end::late) return false;
  throw_failure({&point_, 1}, at_);
  return true;
}

completion_awaiter::completion_awaiter(const completion& awaited, freshness is) noexcept
    : where_{awaited.where_}, is_{is} {
  ticket = awaited.ticket_;
}

bool completion_awaiter::await_ready() noexcept {
  if (where_ == nullptr) {
    outcome = errc::success;
  } else {
    outcome = is_ == freshness::just_made ? ask_unless_others_do(*where_, ticket) : ask_outcome(*where_, ticket);
  }
  return outcome != errc::not_ready;
}

bool completion_awaiter::suspend(std::coroutine_handle<> awaiting, told_function function, teller teller_of_it) {
  awaiting_ = awaiting;
  told = function;
  by = teller_of_it;
  return add_waiter(*where_, ticket, *this);
}

void completion_awaiter::resume(completion_waiter& self, errc) noexcept { of(self).awaiting_.resume(); }

void completion_awaiter::throw_failure(call_site at) const { throw_outcome(where_, ticket, outcome, "co_await", at); }

void completion_call::begin(const completion& after) {
  lane* const where = completion_access::where(after);
  if (where != nullptr && add_waiter(*where, completion_access::ticket(after), *this)) return;
  if (where == nullptr) outcome = errc::success;
  tell_soon(where, *this);
}

void completion_call::report_exception() noexcept { raise_to_hook(std::current_exception()); }

}  // namespace weir::detail
