// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_checks.cpp - refuses calls that would invalidate an open capture.
#include "api/capture/capture_checks.hpp"

#include "api/capture/capture_registry.hpp"
#include "api/graph/graph_parts.hpp"
#include "api/stream/host_failures.hpp"

#include <weir/core/error.hpp>
#include <weir/core/to_string.hpp>
#include <weir/device/context.hpp>
#include <weir/graph/graph.hpp>

#include <fmt/format.h>

#include <optional>

namespace weir::detail {
namespace {

// An open capture and the call that invalidated it, if one is known.
struct found_capture {
  active_capture capture;
  capture_invalidation invalidation;
};

// Returns a text such as "the capture begun at main.cpp:12 in own_thread mode by thread 4711, which
// stays valid".
std::string with_state(const found_capture& found) {
  return fmt::format(
      "{}, which {}", to_text(found.capture),
      found.invalidation.call == nullptr ? "stays valid" : "was " + to_text(found.invalidation));
}

// Returns the first capture for whose record `condition` returns true. If there is one, first
// removes the records of captures that other code has ended directly through the driver.
template <class Condition>
std::optional<found_capture> find_active(const Condition& condition) {
  if (!capture_registry::instance().find_if(condition)) return {};
  static_cast<void>(remove_ended_captures());
  std::optional<found_capture> found;
  capture_registry::instance().for_each([&](const capture_record& record) {
    if (!found && condition(record)) found = found_capture{record.capture, record.invalidation};
  });
  return found;
}

}  // namespace

void throw_if_stream_captured(CUstream stream, const char* call, call_site at) {
  const stream_capture_info info = query_capture(stream, at);
  if (info.status == CU_STREAM_CAPTURE_STATUS_NONE) return;
  if (info.status == CU_STREAM_CAPTURE_STATUS_INVALIDATED) {
    throw_error(errc::stream_capture_invalidated, call, stream_ref{stream}, at);
  }
  throw_error(
      errc::stream_capture_unsupported, call, to_string(stream_ref{stream}),
      fmt::format("the stream takes part in {}, which stays valid; make the call before the "
                  "capture begins or after it ends",
                  to_text(find_capture(stream, info).capture)),
      at);
}

void throw_if_event_captured(CUevent event, const char* call, call_site at) {
  const auto capture =
      find_active([&](const capture_record& record) { return record.has_event(event); });
  if (!capture) return;
  throw_error(
      errc::captured_event, call, to_string(event_ref{event}),
      fmt::format("the event was recorded in {}, and orders only the work inside it; record the "
                  "event again outside before the host queries it or waits for it, or record it "
                  "there with weir::external",
                  with_state(*capture)),
      at);
}

namespace {

void throw_context_captured(const std::optional<found_capture>& capture, CUcontext context,
                            const char* call, call_site at) {
  if (!capture) return;
  throw_error(errc::stream_capture_unsupported, call, to_string(context_ref{context}),
              fmt::format("a stream of the context takes part in {}; wait for single "
                          "streams, or for the context after the capture ends",
                          with_state(*capture)),
              at);
}

}  // namespace

void throw_if_context_captured(CUcontext context, const char* call, call_site at) {
  const auto capture =
      find_active([&](const capture_record& record) { return record.has_context(context); });
  throw_context_captured(capture, context, call, at);
}

void throw_if_context_captured_here(CUcontext context, const char* call, call_site at) {
  const auto capture = find_active([&](const capture_record& record) {
    return record.has_context(context) && record.capture.thread == unique_thread_id();
  });
  throw_context_captured(capture, context, call, at);
}

bool is_context_captured(CUcontext context) {
  return any_capture_active() && find_active([&](const capture_record& record) {
                                   return record.has_context(context);
                                 }).has_value();
}

void throw_if_graph_captured(CUgraph graph, const char* call, call_site at) {
  const auto capture = find_active(
      [&](const capture_record& record) { return is_part_of(record.capture.graph, graph); });
  if (!capture) return;
  throw_error(
      errc::illegal_state, call, to_string(graph_ref{graph}),
      fmt::format("the graph {} {}; end that capture first",
                  capture->capture.graph == graph ? "is the target of" : "contains the target of",
                  with_state(*capture)),
      at);
}

void throw_if_part_captured(CUgraph graph, CUgraphNode node, const char* call, call_site at) {
  const auto capture = find_active([&](const capture_record& record) {
    return is_part_of_node(record.capture.graph, graph, node);
  });
  if (!capture) return;
  throw_error(errc::illegal_state, call, to_string(graph_node{node, graph}),
              fmt::format("the node contains the target graph of {}; end that capture first",
                          with_state(*capture)),
              at);
}

void throw_if_memory_in_body(unsigned long long capture, CUstream stream, const char* call,
                             call_site at) {
  if (capture == 0) return;  // no capture, or an invalidated one
  const auto body = capture_registry::instance().find_if([&](const capture_record& record) {
    return record.capture.id == capture && record.capture.borrows_graph();
  });
  if (!body || !is_in_body(body->graph)) return;
  throw_error(
      errc::not_supported, call, to_string(stream_ref{stream}),
      fmt::format("{} records into a body of a conditional node, which cannot contain allocations; "
                  "allocate the memory before the node",
                  to_text(*body)),
      at);
}

void fail_unusable_graph(CUgraph graph, const char* call, call_site at) {
  throw_error(errc::illegal_state, call, to_string(graph_ref{graph}),
              "the driver destroyed a body or child graph of this graph when a capture into it "
              "broke, and may crash if the graph is used or destroyed; create a new graph",
              at);
}

}  // namespace weir::detail
