// SPDX-License-Identifier: Apache-2.0
// api/stream/stream_fork.cpp - forks of streams and their joins.
#include <weir/core/to_string.hpp>
#include <weir/device/context.hpp>
#include <weir/stream/stream_fork.hpp>

#include "api/capture/capture_registry.hpp"
#include "api/core/check.hpp"
#include "api/core/first_failure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace weir {

using detail::require_open;
using detail::throw_error;

namespace {

constexpr const char* fork_call = "weir::stream_fork";
constexpr const char* join_call = "weir::stream_fork::join";

// Returns the id of the capture that the stream takes part in; 0 if there is none. Throws if the
// capture is invalidated, because it has no id.
abi::cuuint64_t capture_id_of(stream_ref stream, call_site at) {
  constexpr const char* call = "cuStreamGetCaptureInfo";
  detail::stream_capture_info info;
  detail::check(detail::try_query_capture_id(require_open(stream, call, at), info), call, stream,
                at);
  if (info.status == abi::CU_STREAM_CAPTURE_STATUS_INVALIDATED) {
    throw_error(errc::stream_capture_invalidated, call, stream, at);
  }
  return info.status == abi::CU_STREAM_CAPTURE_STATUS_ACTIVE ? info.id : 0;
}

void require_two_streams(stream_ref origin, std::size_t count, call_site at) {
  require_open(origin, fork_call, at);
  if (count >= 2) return;
  throw_error(errc::invalid_value, fork_call, to_string(origin),
              "the fork has fewer than two streams; pass at least one stream besides the origin",
              at);
}

}  // namespace

stream_fork::stream_fork(stream_ref origin, unsigned count, call_site at) {
  require_two_streams(origin, count, at);
  streams_.reserve(count);
  streams_.push_back(origin);
  own_streams_.reserve(count - 1);
  const context_ref context = origin.context(at);
  const stream_options options{.priority = origin.priority(at)};
  while (streams_.size() < count)
    streams_.push_back(own_streams_.emplace_back(context, options, at));
  fork(at);
}

stream_fork::stream_fork(stream_ref origin, unsigned count, const stream_pool& pool,
                         std::string_view role, call_site at) {
  require_two_streams(origin, count, at);
  streams_.reserve(count);
  streams_.push_back(origin);
  leases_.reserve(count - 1);
  while (streams_.size() < count) streams_.push_back(leases_.emplace_back(pool.acquire(role, at)));
  fork(at);
}

stream_fork::stream_fork(stream_ref origin, std::span<const stream_ref> branches, call_site at) {
  require_two_streams(origin, branches.size() + 1, at);
  streams_.reserve(branches.size() + 1);
  streams_.push_back(origin);
  for (const stream_ref branch : branches) {
    require_open(branch, fork_call, at);
    if (std::ranges::find(streams_, branch) != streams_.end()) {
      throw_error(
          errc::invalid_value, fork_call, to_string(branch),
          branch == origin
              ? "the stream is the origin, which is part of the fork already; pass only the "
                "other streams"
              : "the stream is listed twice; list each stream once",
          at);
    }
    streams_.push_back(branch);
  }
  fork(at);
}

// If a wait fails, the exception leaves the remaining streams without a dependency on the origin.
// No work of the fork was queued in them yet, so they need no join.
void stream_fork::fork(call_site at) {
  const abi::cuuint64_t capture = capture_id_of(origin(), at);
  for (const stream_ref branch : std::span{streams_}.subspan(1)) {
    const abi::cuuint64_t branch_capture = capture_id_of(branch, at);
    if (branch_capture == 0 || branch_capture == capture) continue;
    throw_error(
        errc::illegal_state, fork_call, to_string(branch),
        fmt::format(
            "the stream takes part in another capture than {}, and that capture stays valid; "
            "end it first",
            to_string(origin())),
        at);
  }
  for (const stream_ref branch : std::span{streams_}.subspan(1)) branch.wait(origin(), at);
}

stream_fork::~stream_fork() {
  if (joined()) return;
  detail::first_failure failure;
  try {
    join();
  } catch (...) {
    failure.note_exception(join_call);
  }
  // An invalidation is not reported here, because the end of the capture reports it.
  if (failure.code != errc::stream_capture_invalidated) detail::report_if_failed(failure, origin());
}

void stream_fork::join(call_site at) {
  if (joined()) return;
  const abi::cuuint64_t capture = capture_id_of(origin(), at);
  std::exception_ptr first;
  const auto try_join = [&](stream_ref branch) {
    if (branch == origin()) return false;
    try {
      if (capture_id_of(branch, at) != capture) {
        throw_error(
            errc::illegal_state, join_call, to_string(branch),
            fmt::format(
                "the stream and {} are no longer in the same capture as at the fork; join before "
                "a capture begins or ends",
                to_string(origin())),
            at);
      }
      origin().wait(branch, at);
      return true;
    } catch (...) {
      if (!first) first = std::current_exception();
      return false;
    }
  };
  std::erase_if(streams_, try_join);
  if (first) std::rethrow_exception(first);
  leases_.clear();
  own_streams_.clear();
}

stream_ref stream_fork::at(std::size_t number, call_site where) const {
  if (number < streams_.size()) return streams_[number];
  throw_error(
      errc::invalid_value, fork_call, to_string(origin()),
      joined() ? fmt::format(
                     "stream {} of the fork does not exist after the join; use the fork's streams "
                     "before the join",
                     number)
               : fmt::format("the fork has no stream {}; use a number below {}", number,
                             streams_.size()),
      where);
}

}  // namespace weir
