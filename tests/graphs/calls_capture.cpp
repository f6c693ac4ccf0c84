// SPDX-License-Identifier: Apache-2.0
// graphs/calls_capture.cpp - captures: begun, forked, joined, queried, ended.
#include "graphs/sequence_state.hpp"

#include <algorithm>
#include <utility>

namespace weir::graphs {

void record(sequence_state& w, unsigned thread, object_id e, object_id s, unsigned flags) {
  object_id made = -1;
  const expected_result expected = w.m.record(e, s, flags, made);
  const bool runs = expected.code == CUDA_SUCCESS && w.m.stream(s).capture < 0;
  w.call(thread, fmt::format("cuEventRecord(e{}, {}, {})", e, w.name(s), flags), expected, [&] {
    return w.driver().cuEventRecordWithFlags(sequence_state::at(w.events, e),
                                             sequence_state::at(w.streams, s), flags);
  });
  if (runs) w.mark(thread, s);
}

namespace {

CUstreamCaptureMode any_mode(sequence_state& w) {
  // In a concurrent sequence, other threads must not be prohibited from anything.
  if (w.concurrency == concurrency_mode::concurrent)
    return w.d.one_of({CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED});
  return w.d.one_of({CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                     CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED});
}

void begin(sequence_state& w) {
  const object_id s = w.any_stream(false);
  const unsigned thread = w.thread_for(s);
  const CUstreamCaptureMode mode =
      w.d.one_in(40) ? static_cast<CUstreamCaptureMode>(3) : any_mode(w);
  const std::size_t graphs = w.m.graphs.size();
  const expected_result expected = w.m.begin(thread, s, mode);
  w.call(
      thread, fmt::format("cuStreamBeginCapture({}, {})", w.name(s), static_cast<unsigned>(mode)),
      expected,
      [&] { return w.driver().cuStreamBeginCapture_v2(sequence_state::at(w.streams, s), mode); });
  if (w.m.graphs.size() > graphs)
    sequence_state::at(w.graphs, static_cast<object_id>(graphs)) = nullptr;
}

void begin_to(sequence_state& w) {
  const object_id s = w.any_stream(false);
  const object_id g = w.any(w.m.graphs, [&](object_id one) { return w.m.graph(one).parent < 0; });
  if (g < 0 || sequence_state::at(w.graphs, g) == nullptr) return;
  const unsigned thread = w.thread_for(s);
  const object_id other = w.any_graph();
  const object_id c = w.m.graph(g).capture;
  if (c >= 0 && !w.m.capture(c).valid)
    return;  // it is not known whether a GPU's driver still has its graph
  // The rules do not say which error comes first: foreign nodes, the graph, or the legacy stream,
  // in which no capture can begin.
  const bool plain =
      w.m.stream(s).capture >= 0 || (c < 0 && w.m.stream(s).kind != stream_kind::legacy);
  std::vector<object_id> behind =
      w.some_nodes(plain && w.d.one_in(12) && other >= 0 ? other : g, 3);
  if (c >= 0 && w.m.stream(s).capture < 0)
    behind.clear();  // a GPU's driver crashes on nodes of a graph with an open capture
  const CUstreamCaptureMode mode = any_mode(w);
  const expected_result expected = w.m.begin_to(thread, s, g, behind, mode);
  w.call(thread,
         fmt::format("cuStreamBeginCaptureToGraph({}, g{}, {}, {})", w.name(s), g, w.names(behind),
                     static_cast<unsigned>(mode)),
         expected, [&] {
           const std::vector<CUgraphNode> handles = handles_of(w, behind);
           return w.driver().cuStreamBeginCaptureToGraph(
               sequence_state::at(w.streams, s), sequence_state::at(w.graphs, g), handles.data(),
               nullptr, handles.size(), mode);
         });
}

}  // namespace

void end_capture(sequence_state& w, unsigned thread, object_id s, bool wanted) {
  object_id made = -1;
  const expected_result expected = w.m.end(thread, s, wanted, made);
  CUgraph graph = nullptr;
  w.call(thread, fmt::format("cuStreamEndCapture({}{})", w.name(s), wanted ? "" : ", null"),
         expected, [&] {
           return w.driver().cuStreamEndCapture(sequence_state::at(w.streams, s),
                                                wanted ? &graph : nullptr);
         });
  if ((graph != nullptr) != (made >= 0)) throw finding{made >= 0 ? "and no graph" : "and a graph"};
  if (made < 0) return;
  CUgraph& known = sequence_state::at(w.graphs, made);
  if (known != nullptr && known != graph) throw finding{"and another graph"};
  known = graph;
  w.describe(made);
}

namespace {

void end(sequence_state& w) {
  const object_id s = w.any_stream(true);
  const capture_state* const c = w.m.capture_of(s);
  const bool wanted = c == nullptr || c->to_existing_graph || !w.d.one_in(30);
  // Usually ends the capture in its origin stream, on the thread that began it.
  if (c == nullptr || w.d.one_in(8)) return end_capture(w, w.thread_for(s), s, wanted);
  const bool own = w.m.stream(c->origin).kind == stream_kind::per_thread;
  end_capture(w, own || w.d.one_in(8) ? w.thread_for(c->origin) : c->thread, c->origin, wanted);
}

void wait(sequence_state& w, unsigned thread, object_id s, object_id e, unsigned flags) {
  object_id made = -1;
  const bool captured = w.m.stream(s).capture >= 0;
  const expected_result expected = w.m.wait(s, e, flags, made);
  w.call(thread, fmt::format("cuStreamWaitEvent({}, e{}, {})", w.name(s), e, flags), expected, [&] {
    return w.driver().cuStreamWaitEvent(sequence_state::at(w.streams, s),
                                        sequence_state::at(w.events, e), flags);
  });
  if (expected.code == CUDA_SUCCESS && !captured) w.mark(thread, s);
}

}  // namespace

// Events of nodes are not used in captures; events otherwise identify nodes, one by one.
void record_or_wait(sequence_state& w) {
  const object_id s = w.any_stream(w.d.below(3) != 0);
  const bool external = w.d.one_in(3);
  const object_id e = w.any_event(external);
  if (e < 0) return;
  const bool captured = w.m.capture_of(s) != nullptr;
  const bool records = w.d.below(2) == 0;
  const unsigned flags =
      w.d.one_in(30) ? 2 : external && (captured ? records || w.d.below(2) == 0 : w.d.one_in(8));
  if (external && captured && w.m.capture_of(s)->valid && w.m.capture_of(s)->graph >= 0) {
    const object_id g = w.m.capture_of(s)->graph;
    if (sequence_state::at(w.graphs, g) == nullptr) return;  // its nodes cannot be resolved yet
    w.resolve(g);
    records ? record(w, w.thread_for(s), e, s, flags) : wait(w, w.thread_for(s), s, e, flags);
    if (w.m.capture_of(s) != nullptr && w.m.capture_of(s)->valid) w.resolve(g);
    return;
  }
  records ? record(w, w.thread_for(s), e, s, flags) : wait(w, w.thread_for(s), s, e, flags);
}

namespace {

// Makes another stream join, or joins a stream's work back to the origin.
void fork(sequence_state& w) {
  const object_id from = w.any_stream(true), to = w.any_stream(false), e = w.any_event(false);
  if (e < 0 || w.m.capture_of(from) == nullptr) return;
  record(w, w.thread_for(from), e, from, 0);
  wait(w, w.thread_for(to), to, e, 0);
}

void join(sequence_state& w) {
  const object_id s = w.any_stream(true), e = w.any_event(false);
  const capture_state* const c = w.m.capture_of(s);
  if (e < 0 || c == nullptr || !c->valid) return;
  const object_id into = c->origin;
  for (const auto& [other, frontier] : std::map{c->frontiers}) {
    if (other == into || !w.m.stream(other).is_alive || w.d.one_in(10)) continue;
    record(w, w.thread_for(other), e, other, 0);
    wait(w, w.thread_for(into), into, e, 0);
  }
}

void ask(sequence_state& w) {
  const object_id s = w.any_stream(w.d.below(4) != 0);
  const unsigned thread = w.thread_for(s);
  auto expected_status = CU_STREAM_CAPTURE_STATUS_NONE, status = expected_status;
  const expected_result expected = w.m.query_status(s, expected_status);
  CUgraph graph = nullptr;
  const CUgraphNode* frontier = nullptr;
  std::size_t count = 0;
  cuuint64_t id = 0;
  w.call(thread, fmt::format("cuStreamGetCaptureInfo({})", w.name(s)), expected, [&] {
    return w.driver().cuStreamGetCaptureInfo_v2(sequence_state::at(w.streams, s), &status, &id,
                                                &graph, &frontier, &count);
  });
  if (status != expected_status)
    throw finding{fmt::format("and the status is {}", static_cast<unsigned>(status))};
  if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE || expected.code != CUDA_SUCCESS) return;
  const capture_state& c = *w.m.capture_of(s);
  CUgraph& known = sequence_state::at(w.graphs, c.graph);
  if (known != nullptr && known != graph) throw finding{"and another graph"};
  known = graph;
  std::vector<CUgraphNode> reported_frontier(frontier, frontier + count);
  w.resolve(c.graph);
  std::vector<CUgraphNode> expected_frontier = handles_of(w, c.frontiers.at(s));
  std::ranges::sort(reported_frontier);
  std::ranges::sort(expected_frontier);
  if (reported_frontier != expected_frontier)
    throw finding{fmt::format("and the frontier is not {}", w.names(c.frontiers.at(s)))};
}

void update_frontier(sequence_state& w) {
  const object_id s = w.any_stream(w.d.below(8) != 0);
  const capture_state* const c = w.m.capture_of(s);
  const object_id other = w.any_graph();
  const object_id g = c != nullptr && !w.d.one_in(10) ? c->graph : other;
  if (g < 0) return;
  // For an invalidated capture, the order of errors is unknown, and so is whether a GPU's driver
  // still has its nodes.
  const bool broken = c != nullptr && !c->valid;
  const std::vector<object_id> behind = w.some_nodes(g, broken ? 0 : 3);
  const unsigned flags = broken ? 0 : w.d.one_of({0u, 0u, 1u, 2u, 0u, 1u}),
                 thread = w.thread_for(s);
  const expected_result expected = w.m.update_frontier(s, behind, flags);
  w.call(thread,
         fmt::format("cuStreamUpdateCaptureDependencies({}, {}, {})", w.name(s), w.names(behind),
                     flags),
         expected, [&] {
           std::vector<CUgraphNode> handles = handles_of(w, behind);
           return w.driver().cuStreamUpdateCaptureDependencies(
               sequence_state::at(w.streams, s), handles.data(), handles.size(), flags);
         });
}

void exchange_mode(sequence_state& w) {
  const unsigned thread = w.d.below(thread_count);
  auto mode = w.d.one_of({CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                          CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED});
  const CUstreamCaptureMode was = std::exchange(w.m.modes[thread], mode);
  w.call(thread, fmt::format("cuThreadExchangeStreamCaptureMode({})", static_cast<unsigned>(mode)),
         CUDA_SUCCESS, [&] { return w.driver().cuThreadExchangeStreamCaptureMode(&mode); });
  if (mode != was) throw finding{fmt::format("and the mode was {}", static_cast<unsigned>(mode))};
}

}  // namespace

std::span<const action> capture_actions() {
  static constexpr action all[] = {{7, begin},        {2, begin_to}, {7, end}, {8, record_or_wait},
                                   {8, fork},         {7, join},     {3, ask}, {2, update_frontier},
                                   {3, exchange_mode}};
  return all;
}

}  // namespace weir::graphs
