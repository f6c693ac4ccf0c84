// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_end.cpp - ends captures.
#include "api/capture/capture_end.hpp"

#include "api/capture/capture_abandon.hpp"
#include "api/capture/capture_failure.hpp"
#include "api/capture/capture_registry.hpp"
#include "api/capture/unjoined_streams.hpp"
#include "api/memory/captured_memory.hpp"

#include <weir/core/to_string.hpp>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace weir::detail {
namespace {

// Returns the capture that the caller's scope began if it can end without a query of the driver.
// Otherwise returns nullopt. No query is needed if the capture owns its graph, weir has seen no
// stream join it, capture_options::join_forks is not set, and the caller may end it.
std::optional<active_capture> find_unforked(const end_request& request) {
  if (request.scope == 0 || request.ownership == graph_ownership::borrowed) return {};
  return capture_registry::instance().find_if([&](const capture_record& record) {
    const active_capture& capture = record.capture;
    return capture.id == request.scope && !capture.options.join_forks && record.joined.empty() &&
           record.has_origin(request.stream.get()) && capture.may_end_here();
  });
}

// Called if the state of the stream cannot be queried. Abandons the capture that begin_capture() or
// begin_capture_to() began in this stream and that the call would have ended.
void abandon_unknown(const end_request& request) noexcept {
  if (request.scope != 0) return;  // the scope abandons its capture itself
  const auto found = capture_registry::instance().find_if([&](const capture_record& record) {
    const active_capture& capture = record.capture;
    return capture.end == capture_end::by_call && capture.ownership == request.ownership &&
           record.has_origin(request.stream.get()) && capture.may_end_here();
  });
  if (found) abandon_capture(request.stream, found->id);
}

stream_capture_info query_at_end(const end_request& request) {
  stream_capture_info info;
  const CUresult answer = try_query_capture(request.stream.get(), info);
  if (answer != CUDA_SUCCESS) abandon_unknown(request);
  check(answer, "cuStreamGetCaptureInfo", request.stream, request.at);
  return info;
}

// Ends a capture that was started directly through the driver and that weir has no record of.
ended_capture end_directly(const end_request& request, const stream_capture_info& info) {
  ended_capture ended;
  const CUstream stream = request.stream.get();
  remove_ended_capture(stream, info);  // an earlier capture of the stream
  const CUresult answer = driver().cuStreamEndCapture(stream, &ended.graph);
  if (answer != CUDA_SUCCESS && !is_in_capture(stream)) note_never_existed(info.id);
  check(answer, end_capture_call, request.stream, request.at);
  own_captured_memory(info.id, ended.graph);
  return ended;
}

// If capture_options::join_forks is set, joins all streams and returns an empty list. Otherwise
// returns the streams that were not joined.
std::vector<CUstream> join_or_find_unjoined(const capture_snapshot& snapshot,
                                            const stream_capture_info& info, call_site at) {
  if (!snapshot.capture.options.join_forks) return find_unjoined(snapshot.joined, info, at);
  join_leaves(snapshot.capture.origin, info.graph, at);
  return {};
}

// Joins or checks the streams, and checks the nodes of a conditional body. Returns the streams that
// were not joined; if there are any, the end in the driver will fail. For a borrowed graph, which
// the driver would then destroy, throws instead. If the function throws, it has abandoned the
// capture.
std::vector<CUstream> prepare_end(const end_request& request, const capture_snapshot& snapshot,
                                  const stream_capture_info& info) {
  if (info.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return {};
  try {
    std::vector<CUstream> unjoined = join_or_find_unjoined(snapshot, info, request.at);
    require_allowed_in_body(snapshot.capture, request);
    if (snapshot.capture.borrows_graph() && !unjoined.empty())
      fail_unjoined(request, snapshot.capture, unjoined);
    return unjoined;
  } catch (...) {
    abandon_capture(request.stream, snapshot.capture.id);
    throw;
  }
}

[[noreturn, gnu::cold]] void fail_to_end(const end_request& request,
                                         std::unique_ptr<capture_record> record,
                                         const driver_end_result& end,
                                         const std::vector<CUstream>& unjoined) {
  const errc code = static_cast<errc>(end.answer);
  const CUgraph destroyed = discard_recorded(*record, end);
  std::string reason = explain_end(code, *record, unjoined);
  if (destroyed != nullptr)
    reason += "; the driver destroyed the graph that was captured into, so create a new one";
  record.reset();  // destroying the record may run work that was deferred until the end
  throw_error(code, end_capture_call, to_string(request.stream), std::move(reason), request.at);
}

ended_capture end_and_unregister(const end_request& request, unsigned long long capture,
                                 const std::vector<CUstream>& unjoined) {
  capture_registry& registry = capture_registry::instance();
  if (registry.begin_end(capture) == nullptr) fail_ended_elsewhere(request);
  const driver_end_result end = end_in_driver(request.stream.get());
  auto record = registry.finish_end(capture);
  if (end.answer != CUDA_SUCCESS) fail_to_end(request, std::move(record), end, unjoined);
  own_captured_memory(capture, end.graph);
  destroy_ownerless(*record);
  return {end.graph, record->capture.instantiate_context};
}

}  // namespace

ended_capture end_active_capture(const end_request& request) {
  const CUstream stream = require_open(request.stream, end_capture_call, request.at);
  if (const auto unforked = find_unforked(request))
    return end_and_unregister(request, unforked->id, {});
  const stream_capture_info info = query_at_end(request);
  const capture_snapshot snapshot = find_capture(stream, info);
  if (info.has_ended(request.scope))
    fail_ended(request, request.scope != 0 ? request.scope : snapshot.capture.id);
  if (snapshot.capture.id == 0) return end_directly(request, info);
  require_endable(snapshot, request);
  const std::vector<CUstream> unjoined = prepare_end(request, snapshot, info);
  return end_and_unregister(request, snapshot.capture.id, unjoined);
}

}  // namespace weir::detail
