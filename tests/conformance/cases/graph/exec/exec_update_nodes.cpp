// SPDX-License-Identifier: Apache-2.0
// cases/graph/exec/exec_update_nodes.cpp - updates, for each type of node.
#include "cases/graph/graph_update.hpp"
#include "probe/probe.hpp"

namespace weir::conformance {

void exec_update_nodes_cases() {
  add("exec.update_memset", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell();
    struct {
      const char* n;
      CUDA_MEMSET_NODE_PARAMS p;
    } list[] = {
        {"value", memset_params(g.dbuf, 9, 64)},
        {"address", memset_params(g.dbuf + 4096, 9, 64)},
        {"~wider", memset_params(g.dbuf, 9, 128)},
        {"narrower", memset_params(g.dbuf, 9, 32)},
        {"~element_size", memset_params(g.dbuf, 9, 64, 1)},
        {"to_2d", memset_params(g.dbuf, 9, 64, 4, 2, 512)},
        {"to_pinned", memset_params(c.d, 9, 1)},
    };
    for (auto& x : list) {
      Graph gr, n;
      add_memset(gr, {}, g.dbuf, 1, 64);
      CUgraphNode m = nullptr;
      OK(cuGraphAddMemsetNode(&m, n, nullptr, 0, &x.p, g.ctx));
      Exec e(gr);
      rec_update(r, x.n, e, n);
    }
    Graph two, two_b, two_c;
    CUgraphNode m = nullptr;
    CUDA_MEMSET_NODE_PARAMS p = memset_params(g.dbuf, 1, 8, 4, 4, 256);
    OK(cuGraphAddMemsetNode(&m, two, nullptr, 0, &p, g.ctx));
    Exec e(two);
    p.value = 5;
    OK(cuGraphAddMemsetNode(&m, two_b, nullptr, 0, &p, g.ctx));
    rec_update(r, "2d_value", e, two_b);
    p.width = 4;
    OK(cuGraphAddMemsetNode(&m, two_c, nullptr, 0, &p, g.ctx));
    rec_update(r, "2d_width", e, two_c);
  });
  add("exec.update_memcpy", [](Rec& r) {
    struct {
      const char* n;
      CUDA_MEMCPY3D p;
    } list[] = {
        {"source", copy_h2d(g.dbuf, g.pin + 64, 64)},
        {"destination", copy_h2d(g.dbuf + 64, g.pin, 64)},
        {"size", copy_h2d(g.dbuf, g.pin, 128)},
        {"direction", copy_d2h(g.pin, g.dbuf, 64)},
        {"device_source", copy_d2d(g.dbuf, g.dbuf + 4096, 64)},
        {"~pageable_source", copy_h2d(g.dbuf, g.page, 64)},
    };
    for (auto& x : list) {
      Graph gr, n;
      add_memcpy(gr, {}, copy_h2d(g.dbuf, g.pin, 64));
      add_memcpy(n, {}, x.p);
      Exec e(gr);
      rec_update(r, x.n, e, n);
    }
  });
  add("exec.update_events", [](Rec& r) {
    Event e, f;
    Graph gr, n;
    CUgraphNode a = add_record(gr, {}, e);
    add_wait(gr, {a}, e);
    CUgraphNode b = add_record(n, {}, f);
    add_wait(n, {b}, f);
    Exec x(gr);
    rec_update(r, "events", x, n);
    Stream s(NB);
    ValueGate v;
    v.arm(s);
    OK(cuGraphLaunch(x, s));
    r.k("old_event", cuEventQuery(e));
    r.k("new_event", cuEventQuery(f));
    v.open();
    OK(cuStreamSynchronize(s));
  });
  add("exec.update_memop", [](Rec& r) {
    Cell a = new_cell(), b = new_cell();
    Graph gr, n, w, two;
    add_memop(gr, {}, op_write(a.d, 1));
    add_memop(n, {}, op_write(b.d, 2));
    add_memop(w, {}, op_wait(b.d, 2));
    Exec x(gr);
    rec_update(r, "value_and_address", x, n);
    Stream s(NB);
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("b", b.get());
    rec_update(r, "write_to_wait", x, w);
  });
  add("exec.update_child", [](Rec& r) {
    Trace& t = new_trace();
    Graph ca, cb, cc, gr, n, m;
    add_label(ca, {}, "old", &t);
    add_label(cb, {}, "new", &t);
    CUgraphNode q = add_label(cc, {}, "x");
    add_label(cc, {q}, "y");
    add_child(gr, {}, ca);
    add_child(n, {}, cb);
    add_child(m, {}, cc);
    Exec x(gr);
    rec_update(r, "same_shape", x, n);
    rec_update(r, "other_shape", x, m);
    Stream s(NB);
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("ran", t.str());
  });
  add("exec.update_while_running", [](Rec& r) {
    Stream s(NB);
    ValueGate v;
    Trace& t = new_trace();
    Graph gr, n;
    CUgraphNode w = add_gate(gr, {}, v);
    add_label(gr, {w}, "old", &t);
    CUgraphNode w2 = add_gate(n, {}, v);
    add_label(n, {w2}, "new", &t);
    Exec x(gr);
    OK(cuGraphLaunch(x, s));
    CUgraphExecUpdateResultInfo i;
    record_blocking(r, "update",
                    blocking([&] { v.open(); }, [&] { return cuGraphExecUpdate(x, n, &i); }));
    OK(cuGraphLaunch(x, s));
    v.open();
    OK(cuStreamSynchronize(s));
    r.k("order", t.str());
  });
  add("exec.update_captured", [](Rec& r) {
    // the usual pattern: capture again, update
    Stream s(NB);
    Trace& t = new_trace();
    auto cap = [&](const std::string& n) {
      begin(s);
      hf(s, t, n + "1");
      hf(s, t, n + "2");
      return end_ok(s);
    };
    Graph a(cap("a")), b(cap("b"));
    Exec x(a);
    rec_update(r, "update", x, b);
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("ran", t.str());
  });
  add("exec.update_empty", [](Rec& r) {
    Graph a, b;
    Exec x(a);
    rec_update(r, "empty_with_empty", x, b);
  });
  add("exec.set_after_node_removed", [](Rec& r) {
    Graph gr;
    CUgraphNode a = add_label(gr, {}, "a"), b = add_label(gr, {a}, "b");
    Exec x(gr);
    OK(cuGraphDestroyNode(a));
    CUDA_HOST_NODE_PARAMS p{};
    p.fn = label_fn;
    p.userData = new_label("z");
    r.k("set_remaining", cuGraphExecHostNodeSetParams(x, b, &p));
    rec_update(r, "update_fewer", x, gr);
  });
  add("exec.update_moved_child", [](Rec& r) {
    // a child graph that was moved, not cloned
    const auto moved = [](CUgraph into, const char* label) {
      CUgraph child = nullptr;
      OK(cuGraphCreate(&child, 0));
      add_label(child, {}, label);
      CUgraphNodeParams p{};
      p.type = CU_GRAPH_NODE_TYPE_GRAPH;
      p.graph.graph = child;
      p.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
      CUgraphNode n = nullptr;
      OK(cuGraphAddNode(&n, into, nullptr, nullptr, 0, &p));
    };
    Graph one, other, copied, child;
    moved(one, "a");
    moved(other, "b");
    add_label(child, {}, "c");
    add_child(copied, {}, child);
    Exec x(one), y(copied);
    rec_update(r, "own", x, one);
    rec_update(r, "other", x, other);
    rec_update(r, "to_copied", x, copied);
    rec_update(r, "copied_to_moved", y, one);
    Graph empty_one;
    CUgraph none = nullptr;
    OK(cuGraphCreate(&none, 0));
    CUgraphNodeParams p{};
    p.type = CU_GRAPH_NODE_TYPE_GRAPH;
    p.graph.graph = none;
    p.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
    CUgraphNode n = nullptr;
    OK(cuGraphAddNode(&n, empty_one, nullptr, nullptr, 0, &p));
    Exec z(empty_one);
    rec_update(r, "empty", z, empty_one);
  });
}

}  // namespace weir::conformance
