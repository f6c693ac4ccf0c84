// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_failure.cpp - explains why captures can neither begin nor end.
#include "api/capture/capture_failure.hpp"

#include "api/capture/capture_abandon.hpp"
#include "api/core/check.hpp"
#include "api/graph/conditional_bodies.hpp"
#include "api/graph/graph_metadata.hpp"
#include "api/graph/graph_parts.hpp"
#include "api/graph/node_calls.hpp"

#include <weir/core/to_string.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir::detail {
namespace {

std::string names_of(const std::vector<CUstream>& streams) {
  std::string names;
  for (const CUstream stream : streams)
    names += (names.empty() ? "" : ", ") + to_string(stream_ref{stream});
  return names;
}

std::string text_of_unjoined(const active_capture& capture, const std::vector<CUstream>& unjoined) {
  return fmt::format(
      "{} ended before {} rejoined it; wait for them in {} before the end, or set "
      "capture_options::join_forks",
      to_text(capture),
      unjoined.empty() ? "streams that joined directly through the driver" : names_of(unjoined),
      to_string(stream_ref{capture.origin}));
}

std::string text_of_invalidated(const capture_record& record) {
  std::vector<CUstream> joined;
  for (const joined_stream& each : record.joined) joined.push_back(each.stream);
  return fmt::format("{} was {}{} and has ended; fix that call and capture again",
                     to_text(record.capture), to_text(record.invalidation),
                     joined.empty() ? "" : " (joined: " + names_of(joined) + ")");
}

std::string text_of_directly_ended(const active_capture& capture) {
  const char* const damage =
      capture.borrows_graph() ? ", and its graph may be incomplete or destroyed" : "";
  return fmt::format("{} was ended directly through the driver{}; end it through weir",
                     to_text(capture), damage);
}

[[noreturn]] void fail_end(errc code, const end_request& request, std::string reason) {
  throw_error(code, end_capture_call, to_string(request.stream), std::move(reason), request.at);
}

}  // namespace

void fail_to_begin(CUresult answer, stream_ref stream, const char* call, call_site at) {
  if (answer == CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER) {
    throw_error(errc::call_requires_newer_driver, call, to_string(stream),
                "a capture into an existing graph needs a driver for CUDA 12.3 or later; use "
                "capture() for a new graph, and add it with child_graph_parameters",
                at);
  }
  const stream_capture_info now = query_capture(stream.get(), at);
  if (now.status == CU_STREAM_CAPTURE_STATUS_NONE)
    throw_error(static_cast<errc>(answer), call, stream, at);
  if (now.status == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
    throw_error(errc::stream_capture_invalidated, call, stream, at);
  throw_error(
      errc::illegal_state, call, to_string(stream),
      fmt::format("the stream already takes part in {}, which stays valid; end that capture first",
                  to_text(find_capture(stream.get(), now).capture)),
      at);
}

void require_endable(const capture_snapshot& snapshot, const end_request& request) {
  const active_capture& capture = snapshot.capture;
  const bool is_external = capture.end == capture_end::external;
  const bool ends_by_scope = capture.end == capture_end::by_scope && request.scope != capture.id;
  // A scope ends its capture in spite of participants.
  const bool has_participant = snapshot.participant_count != 0 && request.scope != capture.id;
  const bool has_other_ownership = capture.ownership != request.ownership;
  // No other thread may end such a capture in the driver.
  const bool is_orphaned = !capture.may_end_here() && capture.thread_has_ended;
  const bool borrows = capture.borrows_graph();
  // The first obstacle that applies is thrown. In `reason`, the first {} stands for the capture,
  // and the second one for its origin stream.
  const struct obstacle {
    bool applies;
    errc code;
    const char* reason;
  } obstacles[] = {
      {is_external, errc::illegal_state, "{} stays valid; end it in the code that began it"},
      {!snapshot.is_origin, errc::stream_capture_unmatched,
       "the stream joined {}, which stays valid; end the capture in {}"},
      {ends_by_scope && borrows, errc::illegal_state,
       "{} stays valid and ends when the weir::capture_to() that began it returns; remove this "
       "end"},
      {ends_by_scope, errc::illegal_state,
       "{} stays valid and ends when the weir::capture() that began it returns; remove this end"},
      {has_participant, errc::illegal_state,
       "{} stays valid and still has a capture_participant; destroy the participant first"},
      {has_other_ownership && borrows, errc::illegal_state,
       "{} stays valid; end it with end_capture_to(), because it does not own its graph"},
      {has_other_ownership, errc::illegal_state,
       "{} stays valid; end it with end_capture(), which returns its graph"},
      {is_orphaned, errc::stream_capture_wrong_thread,
       "{} was discarded, because that thread has ended; end a capture before its thread, or "
       "capture "
       "in relaxed mode"},
      {!capture.may_end_here(), errc::stream_capture_wrong_thread,
       "{} stays valid; end it in that thread, or capture in relaxed mode"},
  };
  const auto* const found = std::ranges::find_if(obstacles, &obstacle::applies);
  if (found == std::end(obstacles)) return;
  if (is_orphaned && found->code == errc::stream_capture_wrong_thread)
    abandon_capture(request.stream, capture.id);
  fail_end(found->code, request,
           fmt::format(fmt::runtime(found->reason), to_text(capture),
                       to_string(stream_ref{capture.origin})));
}

void fail_ended(const end_request& request, unsigned long long ended) {
  const auto record = capture_registry::instance().remove(ended);
  fail_end(errc::illegal_state, request,
           record != nullptr ? text_of_directly_ended(record->capture)
                             : "the stream is not capturing; call begin_capture() first");
}

void fail_ended_elsewhere(const end_request& request) {
  fail_end(errc::illegal_state, request,
           "another thread is ending the capture; end each capture only once");
}

void fail_unjoined(const end_request& request, const active_capture& capture,
                   const std::vector<CUstream>& unjoined) {
  fail_end(errc::stream_capture_unjoined, request, text_of_unjoined(capture, unjoined));
}

void require_allowed_in_body(const active_capture& capture, const end_request& request) {
  if (!capture.borrows_graph() || !any_graph_metadata() || !is_in_body(capture.graph)) return;
  const graph_node not_allowed = find_not_allowed_in_body(capture.graph, request.at);
  if (!not_allowed) return;
  fail_end(
      errc::not_supported, request,
      fmt::format("{} recorded {}, which a body of a conditional node cannot contain, so the body "
                  "was restored; record that work outside the body",
                  to_text(capture), describe(not_allowed)));
}

std::string explain_end(errc code, const capture_record& record,
                        const std::vector<CUstream>& unjoined) {
  switch (code) {
    case errc::stream_capture_invalidated: return text_of_invalidated(record);
    case errc::stream_capture_unjoined: return text_of_unjoined(record.capture, unjoined);
    case errc::illegal_state: return text_of_directly_ended(record.capture);
    default: return to_text(record.capture);
  }
}

}  // namespace weir::detail
