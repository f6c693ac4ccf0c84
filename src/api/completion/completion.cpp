// api/completion/completion.cpp - the end of work that a stream was given: asked for, waited for, awaited.
#include <weir/completion/completion.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/stream/stream.hpp>

#include "api/capture/captures.hpp"
#include "api/core/check.hpp"
#include "api/completion/completion_access.hpp"
#include "api/stream/directly.hpp"
#include "api/stream/host_failures.hpp"
#include "api/core/may_wait.hpp"
#include "api/capture/refuse_in_capture.hpp"
#include "api/capture/relaxed_captures.hpp"
#include "api/stream/stream_state.hpp"
#include "api/core/unraised.hpp"
#include "os/forked_child.hpp"
#include "reactor/reactor.hpp"
#include "reactor/wait.hpp"

namespace weir {
using detail::lane;

namespace {

// Of a stream that has that lane, if it is known.
weir::completion completion_of(stream_ref s, lane* where, call_site at) {
  constexpr const char* call = "weir::stream::completion";
  CUstream_st* const stream = detail::usable(s, call, at);
  CUstream_st* const handle = detail::is_legacy(stream) ? abi::CU_STREAM_LEGACY : stream;
  std::uint64_t ticket = 0;
  std::uint64_t life = lane::any_life;
  detail::call_outcome noted{lane::moved_on};
  const detail::relaxed_in_our_captures unharmed{at};
  if (where != nullptr && !where->failed()) [[likely]] {
    noted = where->note(handle, life, ticket);
  }
  while (noted.code == lane::moved_on) {
    where = &detail::lane_of(handle, life, call, at);
    noted = where->note(handle, life, ticket);
  }
  if (noted.code == errc::success) [[likely]] {
    return detail::completion_access::make(*where, ticket);
  }
  if (noted.code == errc::stream_capture_unsupported || noted.code == errc::stream_capture_invalidated) {
    detail::refuse_captured_stream(stream, call, at);
  }
  detail::fail_as_answered(noted.code, noted.call != nullptr ? noted.call : call, s, at);
}

}  // namespace

detail::lane& detail::prepare_completion(stream_ref s, const char* call, call_site at) {
  CUstream_st* const stream = usable(s, call, at);
  refuse_in_capture(stream, call, at);
  std::uint64_t life = lane::any_life;
  return lane_of(is_legacy(stream) ? abi::CU_STREAM_LEGACY : stream, life, call, at);
}

weir::completion stream_ref::completion(call_site at) const { return completion_of(*this, nullptr, at); }

weir::completion stream::completion(call_site at) const {
  return completion_of(ref(), state_ != nullptr ? state_->known_lane() : nullptr, at);
}

bool completion::done(call_site at) const {
  const errc answer = status();
  if (answer == errc::not_ready) return false;
  if (answer != errc::success) detail::throw_outcome(where_, ticket_, answer, "weir::completion::done", at);
  return true;
}

errc completion::status() const noexcept {
  return where_ == nullptr ? errc::success : detail::ask_outcome(*where_, ticket_);
}

bool completion::wait_for_nanoseconds(long long timeout, call_site at) const {
  constexpr const char* call = "weir::completion::wait";
  detail::permit(call, {}, at);
  detail::may_wait(call, at);
  errc outcome = where_ == nullptr ? errc::success : detail::known_outcome(*where_, ticket_);
  if (outcome == errc::not_ready) {
    outcome = detail::wait_until_settled(*where_, ticket_, timeout);
    if (outcome == errc::not_ready) return false;
  }
  detail::throw_outcome(where_, ticket_, outcome, call, at);
  return true;
}

}  // namespace weir
