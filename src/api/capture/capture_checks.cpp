// api/capture/capture_checks.cpp - what would break an open capture is refused before the driver
// hears it.
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

// The first record of which that is true, as text; empty if there is none.
template <class Predicate>
std::string find_capture_text(const Predicate& matches) {
  std::string text;
  capture_registry::instance().for_each([&](const capture_record& record) {
    if (text.empty() && matches(record)) text = to_text(record.capture);
  });
  return text;
}

// The same of a capture that has not been ended directly through the driver.
template <class Predicate>
std::string find_active_capture_text(const Predicate& matches) {
  std::string text = find_capture_text(matches);
  if (text.empty()) return text;
  static_cast<void>(remove_ended_captures());
  return find_capture_text(matches);
}

}  // namespace

errc current_error_code() noexcept {
  try {
    throw;
  } catch (const error& e) {
    return e.result();
  } catch (...) {
    return errc::out_of_memory;
  }
}

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
      fmt::format(
          "the stream takes part in {}, which lives on; do this before it begins or after it ends",
          capture_text.empty() ? "a capture that was started directly through the driver"
                               : capture_text),
      at);
}

void throw_if_event_captured(CUevent event, const char* call, call_site at) {
  const std::string capture_text = find_active_capture_text([&](const capture_record& record) {
    return std::ranges::find(record.events, event) != record.events.end();
  });
  if (capture_text.empty()) return;
  throw_error(errc::captured_event, call, to_string(event_ref{event}),
              fmt::format("it was recorded in {}, which lives on, and orders work inside of that; "
                          "record it again outside "
                          "before the host looks at it",
                          capture_text),
              at);
}

void throw_if_context_captured(CUcontext context, const char* call, call_site at) {
  const std::string capture_text = find_active_capture_text(
      [&](const capture_record& record) { return record.has_context(context); });
  if (capture_text.empty()) return;
  throw_error(errc::stream_capture_unsupported, call, to_string(context_ref{context}),
              fmt::format("a stream of it takes part in {}, which lives on; wait for single "
                          "streams, or for all after its end",
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
              fmt::format("it is {}the graph of {}, which lives on; end that first",
                          itself ? "" : "what has as a part ", capture_text),
              at);
}

void throw_if_part_captured(CUgraph graph, CUgraphNode node, const char* call, call_site at) {
  const std::string capture_text = find_active_capture_text([&](const capture_record& record) {
    return is_part_of_node(record.capture.graph, graph, node);
  });
  if (capture_text.empty()) return;
  throw_error(
      errc::illegal_state, call, to_string(graph_node{node, graph}),
      fmt::format("a graph of it is that of {}, which lives on; end that first", capture_text), at);
}

void throw_if_memory_in_body(unsigned long long capture, CUstream stream, const char* call,
                             call_site at) {
  if (capture == 0) return;  // as one that was broken while it began has no id either
  CUgraph into = nullptr;
  const std::string capture_text = find_capture_text([&](const capture_record& record) {
    if (record.capture.id != capture || !record.capture.borrowed) return false;
    into = record.capture.graph;
    return true;
  });
  if (capture_text.empty() || !is_in_body(into)) return;
  throw_error(errc::not_supported, call, to_string(stream_ref{stream}),
              fmt::format("{} records into a body of a conditional node, which holds no memory of "
                          "its own; allocate before it",
                          capture_text),
              at);
}

void fail_lost_graph(CUgraph graph, const char* call, call_site at) {
  throw_error(errc::illegal_state, call, to_string(graph_ref{graph}),
              "a capture into a body or child graph of it broke, with which the driver destroyed "
              "that; drivers crash over such "
              "graphs, so it is neither used nor destroyed",
              at);
}

}  // namespace weir::detail
