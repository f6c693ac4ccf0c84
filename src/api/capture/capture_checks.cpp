// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_checks.cpp - refuses calls that would invalidate an open capture.
#include "api/capture/capture_checks.hpp"

#include "api/capture/capture_registry.hpp"
#include "api/graph/graph_parts.hpp"

#include <weir/core/error.hpp>
#include <weir/core/to_string.hpp>
#include <weir/device/context.hpp>
#include <weir/graph/graph.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace weir::detail {
namespace {

// Returns the text of the first record for which `matches` returns true, or an empty string.
template <class Predicate>
std::string find_capture_text(const Predicate& matches) {
  std::string text;
  capture_registry::instance().for_each([&](const capture_record& record) {
    if (text.empty() && matches(record)) text = to_text(record.capture);
  });
  return text;
}

// Like find_capture_text(), but ignores captures that were ended directly through the driver.
template <class Predicate>
std::string find_active_capture_text(const Predicate& matches) {
  std::string text = find_capture_text(matches);
  if (text.empty()) return text;
  static_cast<void>(remove_ended_captures());
  return find_capture_text(matches);
}

}  // namespace

void throw_if_stream_captured(CUstream stream, const char* call, call_site at) {
  const stream_capture_info info = query_capture(stream, at);
  if (info.status == CU_STREAM_CAPTURE_STATUS_NONE) return;
  if (info.status == CU_STREAM_CAPTURE_STATUS_INVALIDATED) {
    throw_error(errc::stream_capture_invalidated, call, stream_ref{stream}, at);
  }
  const std::string capture_text =
      find_capture_text([&](const capture_record& record) { return record.capture.id == info.id; });
  throw_error(
      errc::stream_capture_unsupported, call, to_string(stream_ref{stream}),
      fmt::format("the stream takes part in {}, which stays valid; make the call before the "
                  "capture begins or after it ends",
                  capture_text.empty() ? "a capture that was started directly through the driver"
                                       : capture_text),
      at);
}

void throw_if_event_captured(CUevent event, const char* call, call_site at) {
  const std::string capture_text = find_active_capture_text([&](const capture_record& record) {
    return std::ranges::find(record.events, event) != record.events.end();
  });
  if (capture_text.empty()) return;
  throw_error(
      errc::captured_event, call, to_string(event_ref{event}),
      fmt::format("the event was recorded in {}, which stays valid, and orders only the work "
                  "inside it; record the event again outside before the host queries it or waits "
                  "for it",
                  capture_text),
      at);
}

void throw_if_context_captured(CUcontext context, const char* call, call_site at) {
  const std::string capture_text = find_active_capture_text(
      [&](const capture_record& record) { return record.has_context(context); });
  if (capture_text.empty()) return;
  throw_error(
      errc::stream_capture_unsupported, call, to_string(context_ref{context}),
      fmt::format("a stream of the context takes part in {}, which stays valid; wait for single "
                  "streams, or for the context after the capture ends",
                  capture_text),
      at);
}

void throw_if_graph_captured(CUgraph graph, const char* call, call_site at) {
  bool itself = false;
  const std::string capture_text = find_active_capture_text([&](const capture_record& record) {
    itself |= record.capture.graph == graph;
    return is_part_of(record.capture.graph, graph);
  });
  if (capture_text.empty()) return;
  throw_error(errc::illegal_state, call, to_string(graph_ref{graph}),
              fmt::format("the graph {} {}, which stays valid; end that capture first",
                          itself ? "is the target of" : "contains the target of", capture_text),
              at);
}

void throw_if_part_captured(CUgraph graph, CUgraphNode node, const char* call, call_site at) {
  const std::string capture_text = find_active_capture_text([&](const capture_record& record) {
    return is_part_of_node(record.capture.graph, graph, node);
  });
  if (capture_text.empty()) return;
  throw_error(
      errc::illegal_state, call, to_string(graph_node{node, graph}),
      fmt::format("the node contains the target graph of {}, which stays valid; end that capture "
                  "first",
                  capture_text),
      at);
}

void throw_if_memory_in_body(unsigned long long capture, CUstream stream, const char* call,
                             call_site at) {
  if (capture == 0) return;  // an invalidated capture also has id 0
  CUgraph target_graph = nullptr;
  const std::string capture_text = find_capture_text([&](const capture_record& record) {
    if (record.capture.id != capture || !record.capture.borrowed) return false;
    target_graph = record.capture.graph;
    return true;
  });
  if (capture_text.empty() || !is_in_body(target_graph)) return;
  throw_error(
      errc::not_supported, call, to_string(stream_ref{stream}),
      fmt::format("{} records into a body of a conditional node, which cannot contain allocations; "
                  "allocate the memory before the node",
                  capture_text),
      at);
}

void fail_unusable_graph(CUgraph graph, const char* call, call_site at) {
  throw_error(errc::illegal_state, call, to_string(graph_ref{graph}),
              "the driver destroyed a body or child graph of this graph when a capture into it "
              "broke, and may crash if the graph is used or destroyed; create a new graph",
              at);
}

}  // namespace weir::detail
