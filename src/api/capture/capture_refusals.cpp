// api/capture/capture_refusals.cpp - what would break an open capture is refused before the driver hears it.
#include "api/capture/capture_registry.hpp"
#include "api/graph/graph_parts.hpp"

#include <weir/device/context.hpp>
#include <weir/core/error.hpp>
#include <weir/graph/graph.hpp>
#include <weir/core/to_string.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace weir::detail {
namespace {

// The first record of which that is true, as text; empty if there is none.
template <class Predicate>
std::string text_of(const Predicate& is_it) {
  std::string text;
  capture_registry::instance().each([&](const capture_record& record) {
    if (text.empty() && is_it(record)) text = to_text(record.what);
  });
  return text;
}

// The same of a capture that has not been ended past weir.
template <class Predicate>
std::string text_of_open(const Predicate& is_it) {
  std::string text = text_of(is_it);
  if (text.empty()) return text;
  static_cast<void>(drop_ended_captures());
  return text_of(is_it);
}

}  // namespace

errc code_of_exception() noexcept {
  try {
    throw;
  } catch (const error& e) {
    return e.result();
  } catch (...) {
    return errc::out_of_memory;
  }
}

void refuse_captured_stream(CUstream stream, const char* call, call_site at) {
  const capture_part part = capture_part_of(stream, at);
  if (part.status == CU_STREAM_CAPTURE_STATUS_NONE) return;
  if (part.status == CU_STREAM_CAPTURE_STATUS_INVALIDATED) {
    fail(errc::stream_capture_invalidated, call, stream_ref{stream}, at);
  }
  const std::string begun = text_of([&](const capture_record& record) { return record.what.id == part.id; });
  fail(errc::stream_capture_unsupported, call, to_string(stream_ref{stream}),
       fmt::format("the stream takes part in {}, which lives on; do this before it begins or after it ends",
                   begun.empty() ? "a capture that was begun past weir" : begun),
       at);
}

void refuse_captured_event(CUevent event, const char* call, call_site at) {
  const std::string begun = text_of_open(
      [&](const capture_record& record) { return std::ranges::find(record.events, event) != record.events.end(); });
  if (begun.empty()) return;
  fail(errc::captured_event, call, to_string(event_ref{event}),
       fmt::format("it was recorded in {}, which lives on, and orders work inside of that; record it again outside "
                   "before the host looks at it",
                   begun),
       at);
}

void refuse_captured_context(CUcontext context, const char* call, call_site at) {
  const std::string begun = text_of_open([&](const capture_record& record) { return record.has_context(context); });
  if (begun.empty()) return;
  fail(errc::stream_capture_unsupported, call, to_string(context_ref{context}),
       fmt::format("a stream of it takes part in {}, which lives on; wait for single streams, or for all after its end",
                   begun),
       at);
}

void refuse_captured_graph(CUgraph graph, const char* call, call_site at) {
  bool itself = false;
  const std::string begun = text_of_open([&](const capture_record& record) {
    itself |= record.what.graph == graph;
    return is_part_of(record.what.graph, graph);
  });
  if (begun.empty()) return;
  fail(errc::illegal_state, call, to_string(graph_ref{graph}),
       fmt::format("it is {}the graph of {}, which lives on; end that first", itself ? "" : "what has as a part ",
                   begun),
       at);
}

void refuse_captured_part(CUgraph graph, CUgraphNode node, const char* call, call_site at) {
  const std::string begun =
      text_of_open([&](const capture_record& record) { return is_part_of_node(record.what.graph, graph, node); });
  if (begun.empty()) return;
  fail(errc::illegal_state, call, to_string(graph_node{node, graph}),
       fmt::format("a graph of it is that of {}, which lives on; end that first", begun), at);
}

void refuse_memory_in_body(unsigned long long capture, CUstream stream, const char* call, call_site at) {
  if (capture == 0) return;  // as one that was broken while it began has no id either
  CUgraph into = nullptr;
  const std::string begun = text_of([&](const capture_record& record) {
    if (record.what.id != capture || !record.what.given) return false;
    into = record.what.graph;
    return true;
  });
  if (begun.empty() || !is_in_body(into)) return;
  fail(errc::not_supported, call, to_string(stream_ref{stream}),
       fmt::format("{} records into a body of a conditional node, which holds no memory of its own; allocate before it",
                   begun),
       at);
}

void fail_lost(CUgraph graph, const char* call, call_site at) {
  fail(
      errc::illegal_state, call, to_string(graph_ref{graph}),
      "a capture into a body or child graph of it broke, with which the driver destroyed that; drivers crash over such "
      "graphs, so it is neither used nor destroyed",
      at);
}

}  // namespace weir::detail
