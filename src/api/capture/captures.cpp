// api/capture/captures.cpp - captures begun, and what is known of those that are open.
#include "api/capture/captures.hpp"

#include "api/capture/capture_registry.hpp"
#include "api/capture/driver_frontier.hpp"
#include "api/graph/graph_checks.hpp"
#include "api/graph/graph_metadata.hpp"
#include "api/graph/graph_parts.hpp"
#include "api/stream/host_failures.hpp"

#include <weir/core/to_string.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace weir::detail {
namespace {

constexpr const char* begin_call = "cuStreamBeginCapture";
constexpr const char* begin_to_graph_call = "cuStreamBeginCaptureToGraph";

[[noreturn, gnu::cold]] void fail_to_begin(CUstream stream, const char* call, CUresult answer,
                                           call_site at) {
  if (answer == CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER) {
    throw_error(errc::call_requires_newer_driver, call, to_string(stream_ref{stream}),
                "a capture into a graph that is there needs a driver of CUDA 12.3; capture() makes "
                "a new one, for "
                "child_graph_parameters",
                at);
  }
  if (const stream_capture_info now = query_capture(stream, at);
      now.status != CU_STREAM_CAPTURE_STATUS_NONE) {
    const capture_snapshot snapshot = find_capture(stream, now);
    throw_error(errc::illegal_state, call, to_string(stream_ref{stream}),
                fmt::format("it takes part in {} already, which lives on",
                            snapshot.capture.id != 0
                                ? to_text(snapshot.capture)
                                : "a capture that was started directly through the driver"),
                at);
  }
  throw_error(static_cast<errc>(answer), call, stream_ref{stream}, at);
}

// Begins it in the driver, behind `after` in a graph that is there, or in a new one.
CUresult begin_in_driver(CUstream stream, const capture_target* into, driver_frontier& after,
                         capture_mode mode) {
  const auto as_number = static_cast<CUstreamCaptureMode>(mode);
  const capture_begin_lock alone;
  if (into == nullptr) return driver().cuStreamBeginCapture_v2(stream, as_number);
  return driver().cuStreamBeginCaptureToGraph(stream, into->graph, after.nodes(), after.data(),
                                              after.size(), as_number);
}

// Of a capture that has just begun and shall not be. Nothing has been recorded.
void cancel_begin(CUstream stream, capture_target* into) noexcept {
  const CUgraph graph = end_in_driver(stream).graph;
  if (into != nullptr) {
    into->is_destroyed = graph == nullptr;
    if (into->is_destroyed) mark_destroyed(into->graph);
  } else if (graph != nullptr) {
    report_if_failed(driver().cuGraphDestroy(graph), "cuGraphDestroy", subject::graph(graph));
  }
}

void require_valid_target(const capture_target& into, const char* call, call_site at) {
  if (into.graph == nullptr)
    throw_error(errc::invalid_handle, call, "no graph", "there is no graph to capture into", at);
  static_cast<void>(require_not_capturing(graph_ref{into.graph}, call, at));
}

}  // namespace

capture_snapshot find_capture(CUstream stream, const stream_capture_info& info) {
  capture_snapshot snapshot;
  const bool active = info.status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
  capture_registry::instance().for_each([&](const capture_record& record) {
    // A broken one has no id. Of those that the stream was in all but the last have ended.
    const bool matches = active ? record.capture.id == info.id : record.has_stream(stream);
    if (matches)
      snapshot = {record.capture, record.has_origin(stream), record.participant_count,
                  record.joined};
  });
  return snapshot;
}

bool remove_ended_captures() noexcept {
  const auto by_hand = [](const capture_record& record) {
    return !record.capture.scoped || record.capture.external;
  };
  const auto has_ended = [](const capture_record& record) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0;
    return query_capture_id(record.capture.origin, status, id) == CUDA_SUCCESS &&
           (status == CU_STREAM_CAPTURE_STATUS_NONE ||
            (status == CU_STREAM_CAPTURE_STATUS_ACTIVE && id != record.capture.id));
  };
  try {
    return capture_registry::instance().query_each(
               by_hand, has_ended, [](const capture_record&, bool e) { return e; }) != 0;
  } catch (const std::bad_alloc&) {
    return false;  // the next one to ask will see
  }
}

active_capture begin_active_capture(stream_ref stream, capture_options options, bool scoped,
                                    call_site at, capture_target* into) {
  const char* const call = into == nullptr ? begin_call : begin_to_graph_call;
  const CUstream handle = require_open(stream, call, at);
  if (is_legacy(handle)) {
    throw_error(errc::stream_capture_unsupported, call, to_string(stream),
                "the legacy default stream cannot be captured; capture a stream of your own, or "
                "stream_ref::per_thread()",
                at);
  }
  if (!is_valid_mode(options.mode))
    throw_error(errc::invalid_value, call, to_string(stream), "the mode is none of capture_mode",
                at);
  if (any_capture_active()) static_cast<void>(remove_ended_captures());
  if (into != nullptr) require_valid_target(*into, call, at);
  driver_frontier after =
      into != nullptr ? driver_frontier{into->after, into->graph, call, at} : driver_frontier{};
  auto record = std::make_unique<capture_record>(handle);
  capture_registry::instance().reserve();
  active_capture& capture = record->capture;
  capture.origin = handle;
  capture.context = context_of(handle, at);
  capture.instantiate_context = into != nullptr && into->instantiate_context != nullptr
                                    ? into->instantiate_context
                                    : capture.context;
  capture.options = options;
  capture.scoped = scoped;
  capture.into_existing_graph = into != nullptr;
  capture.borrowed = into != nullptr && into->borrowed;
  capture.begun_at = at;
  capture.thread = unique_thread_id();
  capture.system_thread_id = system_thread_id();
  if (capture.borrowed) {
    record->existing_nodes = nodes_of(into->graph, at);
    std::ranges::sort(record->existing_nodes);
  }
  if (into != nullptr) keep_green_context(graph_ref{into->graph}, capture.context, at);
  // A stream that captures already answers with an error, and its capture lives on: asking first
  // would only cost.
  if (const CUresult answer = begin_in_driver(handle, into, after, options.mode);
      answer != CUDA_SUCCESS) {
    fail_to_begin(handle, call, answer, at);
  }
  try {
    const stream_capture_info info = query_capture(handle, at);
    capture.id = info.id;
    capture.graph = info.graph;
    if (into == nullptr &&
        info.graph != nullptr) {  // there is none if a call of another thread broke it just now
      forget_metadata(info.graph);
      keep_green_context(graph_ref{info.graph}, capture.context, at);
    }
  } catch (...) {
    cancel_begin(handle, into);
    throw;
  }
  const active_capture snapshot = capture;
  capture_registry::instance().add(std::move(record));
  return snapshot;
}

}  // namespace weir::detail
