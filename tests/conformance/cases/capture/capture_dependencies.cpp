// SPDX-License-Identifier: Apache-2.0
// cases/capture/capture_dependencies.cpp - dependencies of a capturing stream, and changes to its
// graph during the capture.
#include "probe/probe.hpp"

#include <cstring>

namespace weir::conformance {

void capture_dependencies_cases() {
  add("capture.update_deps", [](Rec& r) {
    Stream s(NB);
    begin(s);
    lab(s, "a");
    lab(s, "b");
    CUgraph cg = capture_graph(s);
    Nodes v = nodes_of(cg);
    CUgraphNode a = nullptr, b = nullptr;
    for (CUgraphNode n : v) (node_label(n) == "a" ? a : b) = n;
    r.k("deps0", capture_dep_labels(s));
    r.k("set_a",
        cuStreamUpdateCaptureDependencies(s, &a, nullptr, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    r.k("deps1", capture_dep_labels(s));
    lab(s, "c");
    r.k("add_b",
        cuStreamUpdateCaptureDependencies(s, &b, nullptr, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
    r.k("deps2", capture_dep_labels(s));
    r.k("add_b_again", cuStreamUpdateCaptureDependencies(s, &b, nullptr, 1, 0));
    r.k("deps3", capture_dep_labels(s));
    lab(s, "d");
    r.k("set_none", cuStreamUpdateCaptureDependencies(s, nullptr, nullptr, 0,
                                                      CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    r.k("deps4", capture_dep_labels(s));
    lab(s, "e");
    rec_end(r, "end", s);
  });
  add("capture.update_deps_errors", [](Rec& r) {
    Stream s(NB), t(NB);
    Graph other;
    CUgraphNode foreign = add_empty(other);
    CUgraphNode nil = nullptr;
    r.k("not_capturing", cuStreamUpdateCaptureDependencies(t, &foreign, nullptr, 1, 0));
    r.k("not_capturing_none", cuStreamUpdateCaptureDependencies(t, nullptr, nullptr, 0, 0));
    r.k("legacy", cuStreamUpdateCaptureDependencies(LEGACY, nullptr, nullptr, 0, 0));
    begin(s);
    lab(s, "a");
    r.k("flags2", cuStreamUpdateCaptureDependencies(s, nullptr, nullptr, 0, 2));
    r.k("status1", capture_status(s));
    r.k("null_count1", cuStreamUpdateCaptureDependencies(s, nullptr, nullptr, 1, 0));
    r.k("status2", capture_status(s));
    r.k("foreign", cuStreamUpdateCaptureDependencies(s, &foreign, nullptr, 1, 0));
    r.k("status3", capture_status(s));
    r.k("null_node", cuStreamUpdateCaptureDependencies(s, &nil, nullptr, 1, 0));
    r.k("status4", capture_status(s));
    Nodes v = nodes_of(capture_graph(s));
    if (!v.empty()) {
      CUgraphNode twice[2] = {v[0], v[0]};
      r.k("duplicate", cuStreamUpdateCaptureDependencies(s, twice, nullptr, 2,
                                                         CU_STREAM_SET_CAPTURE_DEPENDENCIES));
      r.k("deps", capture_dep_labels(s));
      CUgraphEdgeData ed;
      memset(&ed, 0, sizeof ed);
      ed.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
      ed.from_port = 1;
      r.k("programmatic_edge_from_host",
          cuStreamUpdateCaptureDependencies(s, v.data(), &ed, 1,
                                            CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    }
    r.k("status5", capture_status(s));
    rec_end(r, "end", s);
  });
  add("capture.update_deps_order", [](Rec& r) {
    // unknown flags and nodes of other graphs, with a stream that does not capture
    Stream s(NB);
    Graph other;
    CUgraphNode foreign[2] = {add_empty(other), add_empty(other)};
    r.k("flags2", cuStreamUpdateCaptureDependencies(s, nullptr, nullptr, 0, 2));
    r.k("flags2_foreign", cuStreamUpdateCaptureDependencies(s, foreign, nullptr, 2, 2));
    r.k("status", capture_status(s));
  });
  add("capture.update_deps_broken", ISO, [](Rec& r) {
    // wrong flags, counts and nodes, in an invalidated capture
    Stream s(NB);
    Graph other;
    CUgraphNode foreign = add_empty(other);
    begin(s, RELAXED);
    lab(s, "a");
    Nodes v = nodes_of(capture_graph(s));
    cuStreamAddCallback(
        s, [](CUstream, CUresult, void*) {}, nullptr, 0);
    r.k("status", capture_status(s));
    r.k("none", cuStreamUpdateCaptureDependencies(s, nullptr, nullptr, 0, 0));
    r.k("flags2", cuStreamUpdateCaptureDependencies(s, nullptr, nullptr, 0, 2));
    r.k("foreign", cuStreamUpdateCaptureDependencies(s, &foreign, nullptr, 1, 0));
    r.k("null_count1", cuStreamUpdateCaptureDependencies(s, nullptr, nullptr, 1, 0));
    r.k("own", cuStreamUpdateCaptureDependencies(s, v.data(), nullptr, v.size(), 0));
    r.k("status_after", capture_status(s));
    rec_end(r, "end", s);
  });
  add("capture.update_deps_unjoined", [](Rec& r) {
    // a fork dropped from the dependency set does not count as unjoined
    Stream s(NB), t(NB);
    Event e;
    begin(s);
    lab(s, "a");
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(t, e, 0));
    lab(t, "b");
    r.k("set_none", cuStreamUpdateCaptureDependencies(t, nullptr, nullptr, 0,
                                                      CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    rec_end(r, "end", s);
    begin(s);
    lab(s, "a");
    lab(s, "b");
    r.k("set_none2", cuStreamUpdateCaptureDependencies(s, nullptr, nullptr, 0,
                                                       CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    rec_end(r, "end2", s);
  });
  add("capture.nodes_added_during", [](Rec& r) {
    Stream s(NB);
    begin(s);
    lab(s, "a");
    CUgraph cg = capture_graph(s);
    const CUgraphNode* d = nullptr;
    const CUgraphEdgeData* ed = nullptr;
    size_t n = 0;
    CUstreamCaptureStatus st;
    OK(cuStreamGetCaptureInfo(s, &st, nullptr, nullptr, &d, &ed, &n));
    CUDA_HOST_NODE_PARAMS p{};
    p.fn = label_fn;
    p.userData = new_label("manual");
    CUgraphNode m = nullptr;
    r.k("add_host", cuGraphAddHostNode(&m, cg, d, n, &p));
    r.k("deps_unchanged", capture_dep_labels(s));
    r.k("set",
        cuStreamUpdateCaptureDependencies(s, &m, nullptr, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    lab(s, "b");
    CUgraphNode loose = nullptr;
    r.k("add_loose", cuGraphAddEmptyNode(&loose, cg, nullptr, 0));
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
  });
  for (CUstreamCaptureMode m : {GLOBAL, LOCAL, RELAXED})
    add("capture.instantiate_during." + lower(name_of(m)), [m](Rec& r) {
      // the capture's graph, another graph, and an update, while the capture is open
      {
        Stream s(NB);
        begin(s, m);
        lab(s, "a");
        CUgraphExec x = nullptr;
        r.k("own", cuGraphInstantiate(&x, capture_graph(s), 0));
        r.k("own.status", capture_status(s));
        rec_end(r, "own.end", s);
        if (x) cuGraphExecDestroy(x);
      }
      {
        Stream s(NB);
        Graph gr;
        add_empty(gr);
        Exec before(gr);
        begin(s, m);
        lab(s, "a");
        CUgraphExec x = nullptr;
        r.k("other", cuGraphInstantiate(&x, gr, 0));
        r.k("other.status", capture_status(s));
        rec_end(r, "other.end", s);
        if (x) cuGraphExecDestroy(x);
        begin(s, m);
        lab(s, "a");
        CUgraphExecUpdateResultInfo info;
        memset(&info, 0, sizeof info);
        r.k("update", cuGraphExecUpdate(before, gr, &info));
        r.k("update.status", capture_status(s));
        rec_end(r, "update.end", s);
      }
    });
  add("capture.remove_node_during", [](Rec& r) {
    Stream s(NB);
    begin(s);
    lab(s, "a");
    lab(s, "b");
    Nodes v = nodes_of(capture_graph(s));
    r.k("destroy_node", cuGraphDestroyNode(v.at(0)));
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
  });
  add("capture.destroy_graph_during", [](Rec& r) {
    Stream s(NB);
    begin(s);
    lab(s, "a");
    CUgraph cg = capture_graph(s);
    r.k("destroy_graph", cuGraphDestroy(cg));
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
  });
  add("capture.clone_during", [](Rec& r) {
    Stream s(NB);
    begin(s);
    lab(s, "a");
    CUgraph c = nullptr;
    r.k("clone", cuGraphClone(&c, capture_graph(s)));
    r.k("graph", describe(c));
    if (c) cuGraphDestroy(c);
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
  });
}

}  // namespace weir::conformance
