// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_begin.cpp - begins captures.
#include "api/capture/capture_begin.hpp"

#include "api/capture/capture_abandon.hpp"
#include "api/capture/capture_failure.hpp"
#include "api/capture/capture_registry.hpp"
#include "api/capture/driver_frontier.hpp"
#include "api/device/green_state.hpp"
#include "api/graph/graph_checks.hpp"
#include "api/graph/graph_metadata.hpp"
#include "api/graph/node_calls.hpp"
#include "api/stream/host_failures.hpp"
#include "os/forked_child.hpp"

#include <weir/core/to_string.hpp>

#include <algorithm>
#include <memory>

namespace weir::detail {
namespace {

// If `context` is a green context that weir owns, lets the graph keep it alive. Clones and
// executables of the graph then keep it alive, too.
void keep_green_context(CUgraph graph, CUcontext context, call_site at) {
  if (green_state_ref green{acquire_green_state(context)})
    graph_ref{graph}.keep(std::move(green), at);
}

CUstream require_capturable(stream_ref stream, capture_mode mode, const char* call, call_site at) {
  const CUstream handle = require_open(stream, call, at);
  if (is_legacy(handle)) {
    throw_error(errc::stream_capture_unsupported, call, to_string(stream),
                "the legacy default stream cannot be captured; capture another stream, or "
                "stream_ref::per_thread()",
                at);
  }
  require_valid_mode(mode, call, stream, at);
  return handle;
}

// Its destructor marks the captures that the ending thread has begun and not ended.
class thread_end_watcher {
 public:
  thread_end_watcher() noexcept = default;
  thread_end_watcher(const thread_end_watcher&) = delete;
  thread_end_watcher& operator=(const thread_end_watcher&) = delete;
  ~thread_end_watcher() {
    capture_registry::instance().for_each([](capture_record& record) {
      if (record.capture.thread == unique_thread_id()) record.capture.thread_has_ended = true;
    });
  }
};

// Called by a thread that has begun a capture.
void watch_thread_end() noexcept { static thread_local const thread_end_watcher watcher; }

driver_frontier require_valid_target(const capture_target& target, const char* call, call_site at) {
  if (target.graph == nullptr)
    throw_error(errc::invalid_handle, call, "no graph",
                "the graph is null; pass the graph to capture into", at);
  static_cast<void>(require_not_capturing(graph_ref{target.graph}, call, at));  // throws
  return {target.dependencies, target.graph, call, at};
}

// Stores the target graph in the record, before the capture begins. Adds no nodes, but lets the
// graph keep the green context of the stream alive.
//
// Only a borrowed graph needs `existing_nodes`, because after a failure the recorded nodes are
// removed from it. It also needs `owner`, which is closed if the driver destroys the graph. A graph
// that the capture owns is destroyed after a failure. Its `owner` is only asked for the context in
// which it will be instantiated.
void set_target(capture_record& record, const capture_target& target, call_site at) {
  active_capture& capture = record.capture;
  capture.graph = target.graph;
  capture.ownership = target.ownership;
  capture.has_existing_graph = true;
  if (capture.borrows_graph()) {
    capture.owner = target.owner;
    record.existing_nodes = nodes_of(target.graph, at);
    std::ranges::sort(record.existing_nodes);
  } else if (CUcontext const context = instantiate_context_of(*target.owner); context != nullptr) {
    capture.instantiate_context = context;
  }
  keep_green_context(target.graph, capture.context, at);
}

// Begins the capture in the driver: into a new graph if `target` is null, otherwise into its graph.
// `dependencies` are the nodes that the first operation depends on.
CUresult begin_in_driver(CUstream stream, const capture_target* target,
                         driver_frontier& dependencies, capture_mode mode) {
  const auto as_number = static_cast<CUstreamCaptureMode>(mode);
  if (target == nullptr) return driver().cuStreamBeginCapture_v2(stream, as_number);
  return driver().cuStreamBeginCaptureToGraph(stream, target->graph, dependencies.nodes(),
                                              dependencies.data(), dependencies.size(), as_number);
}

// Marks the work that the stream was given before the capture, for threads that wait for the
// context meanwhile. Returns null if the stream is in a broken capture; the begin reports that.
work_mark mark_earlier_work(CUstream stream, CUcontext context, call_site at) {
  if (context == nullptr) return nullptr;
  CUresult answer = CUDA_SUCCESS;
  work_mark mark = mark_work(stream, context, answer, at);
  if (answer != CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
    check(answer, "cuEventRecord", stream_ref{stream}, at);
  return mark;
}

// Queries the id of a capture that has just begun, and its graph if `target` is null.
void set_identity(active_capture& capture, const capture_target* target, call_site at) {
  const stream_capture_info info = query_capture(capture.origin, at);
  capture.id = info.id;
  if (target != nullptr) return;
  capture.graph = info.graph;
  // The graph is null if a call of another thread has just invalidated the capture.
  if (info.graph == nullptr) return;
  forget_metadata(info.graph);
  keep_green_context(info.graph, capture.context, at);
}

// Ends a capture that has just begun and is not registered. Destroys a new graph. Keeps the target
// graph; if the driver has destroyed it, closes its owner.
void cancel_begin(CUstream stream, const capture_target* target) noexcept {
  const CUgraph graph = end_in_driver(stream).graph;
  if (target == nullptr && graph != nullptr)
    report_if_failed(driver().cuGraphDestroy(graph), "cuGraphDestroy", subject::graph(graph));
  if (target == nullptr || graph != nullptr) return;
  mark_destroyed(target->graph);
  if (target->owner != nullptr) detach_graph(*target->owner);
}

}  // namespace

void require_valid_mode(capture_mode mode, const char* call, subject object, call_site at) {
  if (mode <= capture_mode::relaxed) return;
  throw_error(errc::invalid_value, call, to_text(object),
              "the mode is not a value of weir::capture_mode; use global, own_thread or relaxed",
              at);
}

std::unique_lock<std::mutex> lock_capture_begin() noexcept {
  static constinit std::mutex mutex;
  if (os::in_forked_child()) return {};
  return std::unique_lock{mutex};
}

active_capture begin_active_capture(stream_ref stream, capture_options options, capture_end end,
                                    call_site at, const capture_target* target) {
  const char* const call =
      target == nullptr ? "cuStreamBeginCapture" : "cuStreamBeginCaptureToGraph";
  const CUstream handle = require_capturable(stream, options.mode, call, at);
  if (any_capture_active()) static_cast<void>(remove_ended_captures());
  driver_frontier dependencies;
  if (target != nullptr) dependencies = require_valid_target(*target, call, at);
  capture_registry::records single;
  capture_record& record = *single.emplace_back(std::make_unique<capture_record>(handle, at));
  active_capture& capture = record.capture;
  capture.options = options;
  capture.end = end;
  capture.instantiate_context = capture.context;
  if (target != nullptr) set_target(record, *target, at);
  // No query is made whether the stream is already capturing. The driver refuses such a stream, and
  // its capture stays valid.
  //
  // The lock is held until the capture is registered. A thread that holds it finds each capture
  // that was begun through weir in the registry.
  const std::unique_lock<std::mutex> lock = lock_capture_begin();
  if (options.mode == capture_mode::global) note_global_capture();
  record.earlier_work = mark_earlier_work(handle, capture.context, at);
  const CUresult answer = begin_in_driver(handle, target, dependencies, options.mode);
  if (answer != CUDA_SUCCESS) fail_to_begin(answer, stream, call, at);
  try {
    set_identity(capture, target, at);
  } catch (...) {
    cancel_begin(handle, target);
    throw;
  }
  const active_capture snapshot = capture;
  capture_registry::instance().add(std::move(single));
  watch_thread_end();
  return snapshot;
}

}  // namespace weir::detail
