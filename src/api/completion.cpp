// api/completion.cpp - the end of work that a stream was given: asked for, waited for, awaited.
#include <weir/completion.hpp>
#include <weir/graph_exec.hpp>
#include <weir/stream.hpp>

#include "api/captures.hpp"
#include "api/check.hpp"
#include "api/completion_access.hpp"
#include "api/directly.hpp"
#include "api/host_failures.hpp"
#include "api/may_wait.hpp"
#include "api/relaxed_captures.hpp"
#include "api/unraised.hpp"
#include "driver/forked_child.hpp"
#include "reactor/reactor.hpp"
#include "reactor/wait.hpp"

namespace weir {
namespace detail {

void throw_outcome(const lane* where, unsigned long long ticket, errc outcome, const char* call, call_site at) {
  const CUstream stream = where != nullptr ? where->stream_of(ticket) : closed_handle<CUstream_st>();
  if (outcome == errc::success) {
    if (where != nullptr && is_open(stream)) throw_host_failure_if_any(stream);
    return;
  }
  fail(outcome, call, is_open(stream) ? subject{stream_ref{stream}} : subject{}, at);
}

completion_awaiter::completion_awaiter(const completion& awaited, call_site at) noexcept
    : where_{awaited.where_}, ticket_{awaited.ticket_}, at_{at} {}

bool completion_awaiter::await_ready() noexcept {
  outcome = where_ == nullptr ? errc::success : ask_outcome(*where_, ticket_);
  return outcome != errc::not_ready;
}

bool completion_awaiter::suspend(std::coroutine_handle<> awaiting, told_function function, teller teller_of_it) {
  awaiting_ = awaiting;
  told = function;
  by = teller_of_it;
  return add_waiter(*where_, ticket_, *this);
}

void completion_awaiter::resume(completion_waiter& self, errc) noexcept { of(self).awaiting_.resume(); }

void completion_awaiter::await_resume() const { throw_outcome(where_, ticket_, outcome, "co_await", at_); }

void completion_call::begin(const completion& after) {
  lane* const where = completion_access::where(after);
  if (where != nullptr && add_waiter(*where, completion_access::ticket(after), *this)) return;
  if (where == nullptr) outcome = errc::success;
  reactor& home = where != nullptr ? where->home() : reactor::of(0);
  home.start_thread();
  waiter_list now;
  now.append(*this);
  home.deliver(now, callers::any);
}

void completion_call::report_exception() noexcept { raise_to_hook(std::current_exception()); }

}  // namespace detail

using detail::lane;

weir::completion stream_ref::completion(call_site at) const {
  constexpr const char* call = "weir::stream::completion";
  CUstream_st* const stream = detail::usable(*this, call, at);
  CUstream_st* const handle = detail::is_legacy(stream) ? abi::CU_STREAM_LEGACY : stream;
  std::uint64_t ticket = 0;
  errc answer = lane::moved_on;
  lane* where = nullptr;
  const detail::relaxed_in_our_captures unharmed{at};
  while (answer == lane::moved_on) {
    where = &detail::lane_of(handle, at);
    answer = where->note(handle, ticket);
  }
  if (answer == errc::success) [[likely]] {
    return detail::completion_access::make(*where, ticket);
  }
  if (answer == errc::stream_capture_unsupported || answer == errc::stream_capture_invalidated) {
    detail::refuse_captured_stream(stream, call, at);
  }
  detail::fail_as_answered(answer, call, *this, at);
}

weir::completion stream::completion(call_site at) const { return ref().completion(at); }

bool completion::done(call_site at) const {
  const errc answer = status();
  if (answer == errc::not_ready) return false;
  detail::throw_outcome(where_, ticket_, answer, "weir::completion::done", at);
  return true;
}

errc completion::status() const noexcept {
  return where_ == nullptr ? errc::success : detail::ask_outcome(*where_, ticket_);
}

bool completion::wait_for_nanoseconds(long long timeout, call_site at) const {
  constexpr const char* call = "weir::completion::wait";
  errc outcome = where_ == nullptr ? errc::success : detail::known_outcome(*where_, ticket_);
  if (outcome == errc::not_ready) {
    detail::permit(call, {}, at);
    detail::may_wait(call, at);
    const detail::relaxed_in_our_captures unharmed{at};
    outcome = detail::wait_until_settled(*where_, ticket_, timeout);
    if (outcome == errc::not_ready) return false;
  }
  detail::throw_outcome(where_, ticket_, outcome, call, at);
  return true;
}

}  // namespace weir
