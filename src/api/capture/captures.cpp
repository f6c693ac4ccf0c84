// api/capture/captures.cpp - captures begun, and what is known of those that are open.
#include "api/capture/captures.hpp"

#include "api/capture/capture_registry.hpp"
#include "api/capture/driver_frontier.hpp"
#include "api/graph/graph_book.hpp"
#include "api/graph/graph_parts.hpp"
#include "api/graph/graph_use.hpp"
#include "api/stream/host_failures.hpp"

#include <weir/core/to_string.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace weir::detail {
namespace {

constexpr const char* begin_call = "cuStreamBeginCapture";
constexpr const char* begin_into_call = "cuStreamBeginCaptureToGraph";

[[noreturn, gnu::cold]] void fail_to_begin(CUstream stream, const char* call, CUresult answer, call_site at) {
  if (answer == CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER) {
    fail(errc::call_requires_newer_driver, call, to_string(stream_ref{stream}),
         "a capture into a graph that is there needs a driver of CUDA 12.3; capture() makes a new one, for "
         "child_graph_parameters",
         at);
  }
  if (const capture_part now = capture_part_of(stream, at); now.status != CU_STREAM_CAPTURE_STATUS_NONE) {
    const known_capture known = find_known(stream, now);
    fail(errc::illegal_state, call, to_string(stream_ref{stream}),
         fmt::format("it takes part in {} already, which lives on",
                     known.what.id != 0 ? to_text(known.what) : "a capture that was begun past weir"),
         at);
  }
  fail(static_cast<errc>(answer), call, stream_ref{stream}, at);
}

// Begins it in the driver, behind `after` in a graph that is there, or in a new one.
CUresult begin_in_driver(CUstream stream, const capture_target* into, driver_frontier& after, capture_mode mode) {
  const auto as_number = static_cast<CUstreamCaptureMode>(mode);
  const capture_begin_lock alone;
  if (into == nullptr) return driver().cuStreamBeginCapture_v2(stream, as_number);
  return driver().cuStreamBeginCaptureToGraph(stream, into->graph, after.nodes(), after.data(), after.size(),
                                              as_number);
}

// Of a capture that has just begun and shall not be. Nothing has been recorded.
void take_back(CUstream stream, capture_target* into) noexcept {
  const CUgraph graph = end_in_driver(stream).graph;
  if (into != nullptr) {
    into->is_gone = graph == nullptr;
    if (into->is_gone) note_destroyed(into->graph);
  } else if (graph != nullptr) {
    check_unraised(driver().cuGraphDestroy(graph), "cuGraphDestroy", subject::graph(graph));
  }
}

void expect_target(const capture_target& into, const char* call, call_site at) {
  if (into.graph == nullptr) fail(errc::invalid_handle, call, "no graph", "there is no graph to capture into", at);
  static_cast<void>(finished(graph_ref{into.graph}, call, at));
}

}  // namespace

known_capture find_known(CUstream stream, const capture_part& part) {
  known_capture known;
  const bool active = part.status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
  capture_registry::instance().each([&](const capture_record& record) {
    // A broken one has no id. Of those that the stream was in all but the last have ended.
    const bool it = active ? record.what.id == part.id : record.has(stream);
    if (it) known = {record.what, record.begun_in(stream), record.entered, record.joined};
  });
  return known;
}

bool drop_ended_captures() noexcept {
  const auto by_hand = [](const capture_record& record) { return !record.what.scoped || record.what.entered; };
  const auto has_ended = [](const capture_record& record) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0;
    return ask_which_capture(record.what.origin, status, id) == CUDA_SUCCESS &&
           (status == CU_STREAM_CAPTURE_STATUS_NONE ||
            (status == CU_STREAM_CAPTURE_STATUS_ACTIVE && id != record.what.id));
  };
  try {
    return capture_registry::instance().ask_each(by_hand, has_ended, [](const capture_record&, bool e) { return e; }) !=
           0;
  } catch (const std::bad_alloc&) {
    return false;  // the next one to ask will see
  }
}

open_capture begin_open_capture(stream_ref stream, capture_options options, bool scoped, call_site at,
                                capture_target* into) {
  const char* const call = into == nullptr ? begin_call : begin_into_call;
  const CUstream handle = usable(stream, call, at);
  if (is_legacy(handle)) {
    fail(errc::stream_capture_unsupported, call, to_string(stream),
         "the legacy default stream cannot be captured; capture a stream of your own, or stream_ref::per_thread()", at);
  }
  if (!is_one(options.mode)) fail(errc::invalid_value, call, to_string(stream), "the mode is none of capture_mode", at);
  if (captures_open()) static_cast<void>(drop_ended_captures());
  if (into != nullptr) expect_target(*into, call, at);
  driver_frontier after = into != nullptr ? driver_frontier{into->after, into->graph, call, at} : driver_frontier{};
  auto record = std::make_unique<capture_record>(handle);
  capture_registry::instance().reserve();
  open_capture& what = record->what;
  what.origin = handle;
  what.context = context_of(handle, at);
  what.home = into != nullptr && into->home != nullptr ? into->home : what.context;
  what.options = options;
  what.scoped = scoped;
  what.was_there = into != nullptr;
  what.given = into != nullptr && into->given;
  what.began = at;
  what.thread = thread_number();
  what.thread_id = thread_id();
  if (what.given) {
    record->before = nodes_of(into->graph, at);
    std::ranges::sort(record->before);
  }
  if (into != nullptr) keep_green(graph_ref{into->graph}, what.context, at);
  // A stream that captures already answers with an error, and its capture lives on: asking first would only cost.
  if (const CUresult answer = begin_in_driver(handle, into, after, options.mode); answer != CUDA_SUCCESS) {
    fail_to_begin(handle, call, answer, at);
  }
  try {
    const capture_part part = capture_part_of(handle, at);
    what.id = part.id;
    what.graph = part.graph;
    if (into == nullptr && part.graph != nullptr) {  // there is none if a call of another thread broke it just now
      forget_graph(part.graph);
      keep_green(graph_ref{part.graph}, what.context, at);
    }
  } catch (...) {
    take_back(handle, into);
    throw;
  }
  const open_capture begun = what;
  capture_registry::instance().add(std::move(record));
  return begun;
}

}  // namespace weir::detail
