// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_begin.cpp - begins captures.
#include "api/capture/capture_begin.hpp"

#include "api/capture/capture_abandon.hpp"
#include "api/capture/capture_registry.hpp"
#include "api/capture/driver_frontier.hpp"
#include "api/device/green_state.hpp"
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
                "a capture into an existing graph needs a driver for CUDA 12.3 or later; use "
                "capture() for a new graph, and add it with child_graph_parameters",
                at);
  }
  if (const stream_capture_info now = query_capture(stream, at);
      now.status != CU_STREAM_CAPTURE_STATUS_NONE) {
    const capture_snapshot snapshot = find_capture(stream, now);
    throw_error(
        errc::illegal_state, call, to_string(stream_ref{stream}),
        fmt::format(
            "the stream already takes part in {}, which stays valid; end that capture first",
            snapshot.capture.id != 0 ? to_text(snapshot.capture)
                                     : "a capture that was started directly through the driver"),
        at);
  }
  throw_error(static_cast<errc>(answer), call, stream_ref{stream}, at);
}

// A reference to a green context, held by a graph of its streams and by the clones and executables
// of that graph.
class green_context_share {
 public:
  explicit green_context_share(green_state& held) noexcept : state_{&held} {}
  green_context_share(green_context_share&& other) noexcept
      : state_{std::exchange(other.state_, nullptr)} {}
  green_context_share& operator=(green_context_share&&) = delete;
  ~green_context_share() {
    if (state_ != nullptr) state_->release_noexcept();
  }

 private:
  green_state* state_;
};

void keep_green_context(graph_ref graph, CUcontext context, call_site at) {
  if (green_state* const green = acquire_green_state(context))
    graph.keep(green_context_share{*green}, at);
}

// Begins the capture in the driver: into an existing graph with the dependencies `dependencies`, or
// into a new graph.
CUresult begin_in_driver(CUstream stream, const capture_target* target,
                         driver_frontier& dependencies, capture_mode mode) {
  const auto as_number = static_cast<CUstreamCaptureMode>(mode);
  const capture_begin_lock alone;
  if (target == nullptr) return driver().cuStreamBeginCapture_v2(stream, as_number);
  return driver().cuStreamBeginCaptureToGraph(stream, target->graph, dependencies.nodes(),
                                              dependencies.data(), dependencies.size(), as_number);
}

// Ends a capture that has just begun. Nothing has been recorded yet.
void cancel_begin(CUstream stream, capture_target* target) noexcept {
  const CUgraph graph = end_in_driver(stream).graph;
  if (target != nullptr) {
    target->is_destroyed = graph == nullptr;
    if (target->is_destroyed) mark_destroyed(target->graph);
  } else if (graph != nullptr) {
    report_if_failed(driver().cuGraphDestroy(graph), "cuGraphDestroy", subject::graph(graph));
  }
}

void require_valid_target(const capture_target& target, const char* call, call_site at) {
  if (target.graph == nullptr)
    throw_error(errc::invalid_handle, call, "no graph",
                "the graph is null; pass the graph to capture into", at);
  static_cast<void>(require_not_capturing(graph_ref{target.graph}, call, at));
}

}  // namespace

active_capture begin_active_capture(stream_ref stream, capture_options options, bool scoped,
                                    call_site at, capture_target* target) {
  const char* const call = target == nullptr ? begin_call : begin_to_graph_call;
  const CUstream handle = require_open(stream, call, at);
  if (is_legacy(handle)) {
    throw_error(errc::stream_capture_unsupported, call, to_string(stream),
                "the legacy default stream cannot be captured; capture another stream, or "
                "stream_ref::per_thread()",
                at);
  }
  if (!is_valid_mode(options.mode))
    throw_error(errc::invalid_value, call, to_string(stream),
                "the mode is not a value of weir::capture_mode; use global, own_thread or relaxed",
                at);
  if (any_capture_active()) static_cast<void>(remove_ended_captures());
  if (target != nullptr) require_valid_target(*target, call, at);
  driver_frontier dependencies =
      target != nullptr ? driver_frontier{target->dependencies, target->graph, call, at}
                        : driver_frontier{};
  auto record = std::make_unique<capture_record>(handle);
  capture_registry::instance().reserve();
  active_capture& capture = record->capture;
  capture.origin = handle;
  capture.context = context_of(handle, at);
  capture.instantiate_context = target != nullptr && target->instantiate_context != nullptr
                                    ? target->instantiate_context
                                    : capture.context;
  capture.options = options;
  capture.scoped = scoped;
  capture.into_existing_graph = target != nullptr;
  capture.borrowed = target != nullptr && target->borrowed;
  capture.begun_at = at;
  capture.thread = unique_thread_id();
  capture.system_thread_id = system_thread_id();
  if (capture.borrowed) {
    record->existing_nodes = nodes_of(target->graph, at);
    std::ranges::sort(record->existing_nodes);
  }
  if (target != nullptr) keep_green_context(graph_ref{target->graph}, capture.context, at);
  // The driver refuses a stream that is already capturing, without breaking its capture. A query
  // before would only add cost.
  if (const CUresult answer = begin_in_driver(handle, target, dependencies, options.mode);
      answer != CUDA_SUCCESS) {
    fail_to_begin(handle, call, answer, at);
  }
  try {
    const stream_capture_info info = query_capture(handle, at);
    capture.id = info.id;
    capture.graph = info.graph;
    // The graph is null if a call of another thread has just invalidated the capture.
    if (target == nullptr && info.graph != nullptr) {
      forget_metadata(info.graph);
      keep_green_context(graph_ref{info.graph}, capture.context, at);
    }
  } catch (...) {
    cancel_begin(handle, target);
    throw;
  }
  const active_capture snapshot = capture;
  capture_registry::instance().add(std::move(record));
  return snapshot;
}

}  // namespace weir::detail
