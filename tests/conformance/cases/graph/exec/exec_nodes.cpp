// SPDX-License-Identifier: Apache-2.0
// cases/graph/exec/exec_nodes.cpp - upload; event, memory operation and child nodes at run time.
#include "probe/probe.hpp"

namespace weir::conformance {

void exec_nodes_cases() {
  add("exec.upload", [](Rec& r) {
    Stream s(NB);
    Trace& t = new_trace();
    Graph gr;
    add_label(gr, {}, "g", &t);
    Exec x(gr);
    r.k("upload", cuGraphUpload(x, s));
    r.k("upload_null_stream", cuGraphUpload(x, nullptr));
    OK(cuCtxSynchronize());
    r.k("executed", t.size());
    ValueGate v;
    v.arm(s);
    record_blocking(r, "upload_busy",
                    blocking([&] { v.open(); }, [&] { return cuGraphUpload(x, s); }));
    OK(cuGraphLaunch(x, s));
    v.open();
    OK(cuStreamSynchronize(s));
    r.k("launched", t.size());
  });
  add("exec.event_record_node", [](Rec& r) {
    Stream s(NB), u(NB);
    ValueGate v;
    Event e(0), e0(0);
    Cell c = new_cell();
    Graph gr;
    CUgraphNode a = add_gate(gr, {}, v);
    add_record(gr, {a}, e);
    Exec x(gr);
    OK(cuEventRecord(e0, s));
    OK(cuGraphLaunch(x, s));
    r.k("pending", cuEventQuery(e));
    OK(cuStreamWaitEvent(u, e, 0));
    mark(u, c);
    r.k("waiter_early", early(c));
    v.open();
    r.k("waiter_done", late(c));
    r.k("sync", cuEventSynchronize(e));
    float ms = -1;
    r.k("elapsed", cuEventElapsedTime(&ms, e0, e));
    r.k("not_negative", ms >= 0);
  });
  add("exec.event_wait_node", [](Rec& r) {
    Stream s(NB), u(NB);
    ValueGate v;
    Event e;
    Cell c = new_cell();
    Graph gr;
    CUgraphNode a = add_wait(gr, {}, e);
    add_memset(gr, {a}, c.d, 1);
    Exec x(gr);
    r.k("launch_unrecorded", cuGraphLaunch(x, s));
    r.k("runs_unrecorded", late(c));
    OK(cuStreamSynchronize(s));
    c.set(0);
    v.arm(u);
    OK(cuEventRecord(e, u));
    OK(cuGraphLaunch(x, s));
    r.k("early", early(c));
    v.open();
    r.k("done", late(c));
  });
  add("exec.event_wait_binds_at_launch", [](Rec& r) {
    Stream s(NB), u(NB), w(NB);
    ValueGate v1, v2;
    Event e;
    Cell c = new_cell();
    Graph gr;
    CUgraphNode a = add_wait(gr, {}, e);
    add_memset(gr, {a}, c.d, 1);
    Exec x(gr);
    v1.arm(u);
    OK(cuEventRecord(e, u));
    OK(cuGraphLaunch(x, s));
    v2.arm(w);
    OK(cuEventRecord(e, w));
    v1.open();
    r.k("first_record_suffices", wait_cell(c, 1, 1500));
    v2.open();
    r.k("done", late(c));
    OK(cuCtxSynchronize());
  });
  add("exec.event_record_and_wait_in_graph", [](Rec& r) {
    // a wait node after the record node of its event in one graph
    Stream s(NB);
    Event e;
    Trace& t = new_trace();
    Graph gr;
    CUgraphNode a = add_label(gr, {}, "a", &t), b = add_record(gr, {a}, e),
                c = add_wait(gr, {b}, e);
    add_label(gr, {c}, "b", &t);
    Exec x(gr);
    r.k("launch", cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("order", t.str());
  });
  add("exec.memop_nodes", [](Rec& r) {
    Stream s(NB);
    Cell a = new_cell(), b = new_cell();
    Graph gr;
    CUgraphNode w = add_memop(gr, {}, op_write(a.d, 5));
    CUgraphNode q = add_memop(gr, {w}, op_wait(b.d, 1));
    add_memop(gr, {q}, op_write(a.d, 6));
    Exec x(gr);
    OK(cuGraphLaunch(x, s));
    r.k("first", wait_cell(a, 5, kMustHappenMs));
    r.k("second_early", wait_cell(a, 6, kMustNotHappenMs));
    on_release([b] { b.set(1); });
    b.set(1);
    r.k("second", wait_cell(a, 6, kMustHappenMs));
    OK(cuStreamSynchronize(s));
  });
  add("exec.child_order", [](Rec& r) {
    Stream s(NB);
    Trace& t = new_trace();
    Graph gr, ch;
    CUgraphNode i1 = add_label(ch, {}, "i1", &t);
    add_label(ch, {i1}, "i2", &t);
    CUgraphNode a = add_label(gr, {}, "a", &t), c = add_child(gr, {a}, ch);
    CUgraphNode c2 = add_child(gr, {c}, ch);
    add_label(gr, {c2}, "z", &t);
    Exec x(gr);
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("order", t.str());
  });
  add("exec.empty_child", [](Rec& r) {
    Stream s(NB);
    Trace& t = new_trace();
    Graph gr, ch;
    CUgraphNode a = add_label(gr, {}, "a", &t), c = add_child(gr, {a}, ch);
    add_label(gr, {c}, "b", &t);
    Exec x(gr);
    r.k("launch", cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("order", t.str());
  });
}

}  // namespace weir::conformance
