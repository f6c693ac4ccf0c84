// SPDX-License-Identifier: Apache-2.0
// cases/capture/capture_to_graph.cpp - capture into an existing graph.
#include "probe/probe.hpp"

namespace weir::conformance {

void capture_to_graph_cases() {
  add("capture.to_graph", [](Rec& r) {
    Stream s(NB);
    Graph gr;
    CUgraphNode a = add_label(gr, {}, "a");
    CUgraphNode b = add_label(gr, {}, "b");
    CUgraphNode both[2] = {a, b};
    r.k("begin", cuStreamBeginCaptureToGraph(s, gr, both, nullptr, 2, GLOBAL));
    r.k("status", capture_status(s));
    r.k("same_graph", capture_graph(s) == gr.h);
    r.k("deps", capture_dep_labels(s));
    lab(s, "c");
    CUgraph out = nullptr;
    r.k("end", cuStreamEndCapture(s, &out));
    r.k("out_same", out == gr.h);
    r.k("graph", describe(gr));
    CUgraphExec x = nullptr;
    r.k("instantiate_after", cuGraphInstantiate(&x, gr, 0));
    if (x) cuGraphExecDestroy(x);
  });
  add("capture.to_graph_used_during", ISO, [](Rec& r) {
    // while a capture adds to its graph: adding nodes, cloning it, using it as a child, destroying
    // it
    Stream s(NB);
    Graph gr, parent;
    CUgraphNode a = add_label(gr, {}, "a");
    OK(cuStreamBeginCaptureToGraph(s, gr, &a, nullptr, 1, RELAXED));
    lab(s, "b");
    CUgraphNode n = nullptr;
    r.k("add_node", cuGraphAddEmptyNode(&n, gr, nullptr, 0));
    r.k("status1", capture_status(s));
    CUgraph cl = nullptr;
    r.k("clone", cuGraphClone(&cl, gr));
    if (cl) cuGraphDestroy(cl);
    r.k("status2", capture_status(s));
    r.k("as_child", cuGraphAddChildGraphNode(&n, parent, nullptr, 0, gr));
    r.k("status3", capture_status(s));
    bool destroyed = r.k("destroy", cuGraphDestroy(gr)) == CUDA_SUCCESS;
    r.k("status4", capture_status(s));
    CUgraph out = nullptr;
    r.k("end", cuStreamEndCapture(s, &out));
    r.k("out_same", out == gr.h);
    r.k("graph", out ? describe(out) : "null");
    if (!out || destroyed) gr.h = nullptr;
  });
  add("capture.to_graph_no_deps", [](Rec& r) {
    Stream s(NB);
    Graph gr;
    add_label(gr, {}, "a");
    r.k("begin", cuStreamBeginCaptureToGraph(s, gr, nullptr, nullptr, 0, RELAXED));
    lab(s, "c");
    CUgraph out = nullptr;
    r.k("end", cuStreamEndCapture(s, &out));
    r.k("graph", describe(gr));
    r.k("begin_again", cuStreamBeginCaptureToGraph(s, gr, nullptr, nullptr, 0, RELAXED));
    lab(s, "d");
    r.k("end_again", cuStreamEndCapture(s, &out));
    r.k("graph2", describe(gr));
  });
  add("capture.to_graph_errors", [](Rec& r) {
    Stream s(NB);
    Graph gr, other;
    CUgraphNode f = add_empty(other);
    CUgraphNode a = add_empty(gr);
    CUgraphNode twice[2] = {a, a};
    r.k("null_graph", cuStreamBeginCaptureToGraph(s, nullptr, nullptr, nullptr, 0, GLOBAL));
    r.k("null_deps_count1", cuStreamBeginCaptureToGraph(s, gr, nullptr, nullptr, 1, GLOBAL));
    r.k("foreign_dep", cuStreamBeginCaptureToGraph(s, gr, &f, nullptr, 1, GLOBAL));
    r.k("bad_mode", cuStreamBeginCaptureToGraph(s, gr, nullptr, nullptr, 0,
                                                static_cast<CUstreamCaptureMode>(9)));
    r.k("legacy", cuStreamBeginCaptureToGraph(LEGACY, gr, nullptr, nullptr, 0, GLOBAL));
    r.k("null_stream", cuStreamBeginCaptureToGraph(nullptr, gr, nullptr, nullptr, 0, GLOBAL));
    r.k("status", capture_status(s));
    r.k("duplicate", cuStreamBeginCaptureToGraph(s, gr, twice, nullptr, 2, GLOBAL));
    r.k("status2", capture_status(s));
    if (capture_status(s) == "ACTIVE") {
      CUgraph out = nullptr;
      cuStreamEndCapture(s, &out);
    }
  });
  add("capture.to_graph_order", [](Rec& r) {
    // nodes of another graph, when the stream already captures
    Stream s(NB);
    Graph gr, other;
    CUgraphNode foreign[2] = {add_empty(other), add_empty(other)};
    begin(s, RELAXED);
    r.k("capturing_foreign", cuStreamBeginCaptureToGraph(s, gr, foreign, nullptr, 2, RELAXED));
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
  });
  add("capture.to_graph_order_of_arguments", [](Rec& r) {
    // two errors at once: of the stream or the graph, and of another argument
    Stream s(NB), t(NB);
    Graph gr, busy, other;
    CUgraphNode foreign = add_empty(other);
    const auto mode9 = static_cast<CUstreamCaptureMode>(9);
    r.k("legacy_null_graph",
        cuStreamBeginCaptureToGraph(LEGACY, nullptr, nullptr, nullptr, 0, RELAXED));
    r.k("legacy_foreign", cuStreamBeginCaptureToGraph(LEGACY, gr, &foreign, nullptr, 1, RELAXED));
    r.k("legacy_null_deps", cuStreamBeginCaptureToGraph(LEGACY, gr, nullptr, nullptr, 1, RELAXED));
    r.k("legacy_mode9", cuStreamBeginCaptureToGraph(LEGACY, gr, nullptr, nullptr, 0, mode9));
    OK(cuStreamBeginCaptureToGraph(s, busy, nullptr, nullptr, 0, RELAXED));
    r.k("legacy_busy", cuStreamBeginCaptureToGraph(LEGACY, busy, nullptr, nullptr, 0, RELAXED));
    r.k("capturing_null_graph",
        cuStreamBeginCaptureToGraph(s, nullptr, nullptr, nullptr, 0, RELAXED));
    r.k("capturing_null_deps", cuStreamBeginCaptureToGraph(s, gr, nullptr, nullptr, 1, RELAXED));
    r.k("capturing_mode9", cuStreamBeginCaptureToGraph(s, gr, nullptr, nullptr, 0, mode9));
    r.k("busy_foreign", cuStreamBeginCaptureToGraph(t, busy, &foreign, nullptr, 1, RELAXED));
    r.k("busy_null_deps", cuStreamBeginCaptureToGraph(t, busy, nullptr, nullptr, 1, RELAXED));
    r.k("busy_mode9", cuStreamBeginCaptureToGraph(t, busy, nullptr, nullptr, 0, mode9));
    r.k("status", capture_status(s));
    r.k("status_t", capture_status(t));
    CUgraph out = nullptr;
    r.k("end", cuStreamEndCapture(s, &out));
  });
  add("capture.to_graph_broken", ISO, [](Rec& r) {
    // an invalidated capture and its graph, before the end
    Stream s(NB), t(NB);
    Graph gr, free, other;
    CUgraphNode foreign = add_empty(other);
    OK(cuStreamBeginCaptureToGraph(s, gr, nullptr, nullptr, 0, RELAXED));
    cuStreamAddCallback(
        s, [](CUstream, CUresult, void*) {}, nullptr, 0);
    r.k("status", capture_status(s));
    r.k("stream_foreign", cuStreamBeginCaptureToGraph(s, free, &foreign, nullptr, 1, RELAXED));
    r.k("graph", cuStreamBeginCaptureToGraph(t, gr, nullptr, nullptr, 0, RELAXED));
    r.k("graph_foreign", cuStreamBeginCaptureToGraph(t, gr, &foreign, nullptr, 1, RELAXED));
    r.k("status_t", capture_status(t));
    CUgraph out = nullptr;
    r.k("end", cuStreamEndCapture(s, &out));
    gr.h = nullptr;
  });
  add("capture.to_graph_two_streams", [](Rec& r) {
    Stream s(NB), t(NB);
    Graph gr;
    r.k("begin_s", cuStreamBeginCaptureToGraph(s, gr, nullptr, nullptr, 0, GLOBAL));
    r.k("begin_t", cuStreamBeginCaptureToGraph(t, gr, nullptr, nullptr, 0, GLOBAL));
    Trace& tr = new_trace();
    r.k("op_s", try_hf(s, tr, "a"));
    r.k("t_status", capture_status(t));
    if (capture_status(t) == "ACTIVE") r.k("op_t", try_hf(t, tr, "b"));
    CUgraph out = nullptr;
    if (capture_status(t) == "ACTIVE") r.k("end_t", cuStreamEndCapture(t, &out));
    r.k("end_s", cuStreamEndCapture(s, &out));
    r.k("graph", describe(gr));
  });
  add("capture.to_graph_invalidated", [](Rec& r) {
    Stream s(NB);
    Graph gr;
    CUgraphNode a = add_label(gr, {}, "a");
    OK(cuStreamBeginCaptureToGraph(s, gr, &a, nullptr, 1, GLOBAL));
    lab(s, "b");
    cuStreamAddCallback(
        s, [](CUstream, CUresult, void*) {}, nullptr, 0);
    CUgraph out = reinterpret_cast<CUgraph>(static_cast<uintptr_t>(0x10));
    r.k("end", cuStreamEndCapture(s, &out));
    r.k("out_null", out == nullptr);
    // adds a node to find out whether the graph still exists
    CUgraphNode n = nullptr;
    CUresult e = r.k("add_after", cuGraphAddEmptyNode(&n, gr, nullptr, 0));
    if (e == CUDA_SUCCESS)
      r.k("graph", describe(gr));
    else
      gr.h = nullptr;
  });
  add("capture.to_graph_unjoined", [](Rec& r) {
    Stream s(NB), t(NB);
    Event e;
    Graph gr;
    OK(cuStreamBeginCaptureToGraph(s, gr, nullptr, nullptr, 0, GLOBAL));
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(t, e, 0));
    lab(t, "b");
    CUgraph out = reinterpret_cast<CUgraph>(static_cast<uintptr_t>(0x10));
    r.k("end", cuStreamEndCapture(s, &out));
    r.k("out_null", out == nullptr);
    CUgraphNode n = nullptr;
    CUresult q = r.k("add_after", cuGraphAddEmptyNode(&n, gr, nullptr, 0));
    if (q == CUDA_SUCCESS)
      r.k("graph", describe(gr));
    else
      gr.h = nullptr;
  });

  add("capture.launch_result_order", [](Rec& r) {
    // the captured fork and join, launched
    Stream s(NB), t(NB);
    Event f, j;
    Trace& tr = new_trace();
    begin(s);
    hf(s, tr, "a");
    OK(cuEventRecord(f, s));
    OK(cuStreamWaitEvent(t, f, 0));
    hf(t, tr, "m");
    hf(s, tr, "m");
    OK(cuEventRecord(j, t));
    OK(cuStreamWaitEvent(s, j, 0));
    hf(s, tr, "d");
    CUgraph gr = end_ok(s);
    Graph own(gr);
    Exec x(gr);
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("order", tr.str());
  });
  add("capture.uncaptured_work_beside", [](Rec& r) {
    // work in other streams runs while one stream captures
    Stream s(NB), t(NB), b(BL);
    Cell c = new_cell(), d = new_cell();
    begin(s, GLOBAL);
    r.k("memset_nonblocking", cuMemsetD32Async(c.d, 1, 1, t));
    r.k("memset_blocking", cuMemsetD32Async(d.d, 1, 1, b));
    r.k("ran", late(c) && late(d));
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
  });
}

}  // namespace weir::conformance
