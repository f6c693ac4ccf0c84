// SPDX-License-Identifier: Apache-2.0
// cases/graph/graph_other_nodes.cpp - event and memory operation nodes; clones.
#include "probe/probe.hpp"

namespace weir::conformance {

void graph_other_nodes_cases() {
  add("graph.event_nodes", [](Rec& r) {
    Graph gr;
    Event e, f, t(0);
    CUgraphNode a = add_record(gr, {}, e), b = add_wait(gr, {}, e), c = add_record(gr, {}, t),
                h = add_empty(gr);
    CUevent got = nullptr;
    r.k("get_record", cuGraphEventRecordNodeGetEvent(a, &got));
    r.k("record_same", got == e.e);
    r.k("set_record", cuGraphEventRecordNodeSetEvent(a, f));
    OK(cuGraphEventRecordNodeGetEvent(a, &got));
    r.k("record_changed", got == f.e);
    r.k("get_wait", cuGraphEventWaitNodeGetEvent(b, &got));
    r.k("wait_same", got == e.e);
    r.k("set_wait", cuGraphEventWaitNodeSetEvent(b, f));
    r.k("record_getter_on_wait", cuGraphEventRecordNodeGetEvent(b, &got));
    r.k("wait_getter_on_empty", cuGraphEventWaitNodeGetEvent(h, &got));
    r.k("set_record_null", cuGraphEventRecordNodeSetEvent(c, nullptr));
    r.k("get_null_out", cuGraphEventRecordNodeGetEvent(a, nullptr));
  });
  add("graph.memop_node_params", [](Rec& r) {
    Graph gr;
    Cell c = new_cell();
    CUstreamBatchMemOpParams ops[2] = {op_write(c.d, 1), op_wait(c.d, 1)};
    auto make = [&](unsigned count, CUstreamBatchMemOpParams* a, unsigned flags, CUcontext ctx) {
      CUDA_BATCH_MEM_OP_NODE_PARAMS p{};
      p.ctx = ctx;
      p.count = count;
      p.paramArray = a;
      p.flags = flags;
      return p;
    };
    CUgraphNode n = nullptr;
    auto p = make(2, ops, 0, g.ctx);
    r.k("ok", cuGraphAddBatchMemOpNode(&n, gr, nullptr, 0, &p));
    p = make(0, ops, 0, g.ctx);
    CUgraphNode m = nullptr;
    r.k("count0", cuGraphAddBatchMemOpNode(&m, gr, nullptr, 0, &p));
    p = make(1, nullptr, 0, g.ctx);
    r.k("null_array", cuGraphAddBatchMemOpNode(&m, gr, nullptr, 0, &p));
    p = make(1, ops, 1, g.ctx);
    r.k("flags1", cuGraphAddBatchMemOpNode(&m, gr, nullptr, 0, &p));
    p = make(1, ops, 0, nullptr);
    r.k("null_ctx", cuGraphAddBatchMemOpNode(&m, gr, nullptr, 0, &p));
    std::vector<CUstreamBatchMemOpParams> many(300, op_write(c.d, 1));
    p = make(300, many.data(), 0, g.ctx);
    r.k("count300", cuGraphAddBatchMemOpNode(&m, gr, nullptr, 0, &p));
    CUstreamBatchMemOpParams bad = op_write(c.d + 1, 1);
    p = make(1, &bad, 0, g.ctx);
    r.k("misaligned", cuGraphAddBatchMemOpNode(&m, gr, nullptr, 0, &p));
    if (!n) return;
    CUDA_BATCH_MEM_OP_NODE_PARAMS q{};
    r.k("get", cuGraphBatchMemOpNodeGetParams(n, &q));
    r.k("count", q.count);
    r.k("op0", q.paramArray ? static_cast<int>(q.paramArray[0].operation) : -1);
    ops[0].writeValue.value = 9;
    p = make(2, ops, 0, g.ctx);
    r.k("set", cuGraphBatchMemOpNodeSetParams(n, &p));
    p = make(1, ops, 0, g.ctx);
    r.k("set_fewer", cuGraphBatchMemOpNodeSetParams(n, &p));
    CUgraphNode e = add_empty(gr);
    r.k("get_of_empty", cuGraphBatchMemOpNodeGetParams(e, &q));
  });
  add("graph.clone", [](Rec& r) {
    Graph gr, stranger;
    CUgraphNode a = add_label(gr, {}, "a"), b = add_label(gr, {a}, "b");
    CUgraphNode foreign = add_empty(stranger);
    CUgraph c = nullptr;
    r.k("clone", cuGraphClone(&c, gr));
    Graph own(c);
    r.k("clone_graph", describe(c));
    CUgraphNode ca = nullptr, cb = nullptr, x = nullptr;
    r.k("find_a", cuGraphNodeFindInClone(&ca, a, c));
    r.k("find_b", cuGraphNodeFindInClone(&cb, b, c));
    r.k("labels", node_label(ca) + node_label(cb));
    r.k("handles_differ", ca != a);
    r.k("find_foreign", cuGraphNodeFindInClone(&x, foreign, c));
    r.k("find_in_original", cuGraphNodeFindInClone(&x, a, gr));
    r.k("find_in_stranger", cuGraphNodeFindInClone(&x, a, stranger));
    CUgraphNode d = add_label(gr, {b}, "d");
    r.k("clone_unaffected", describe(c));
    r.k("find_later_node", cuGraphNodeFindInClone(&x, d, c));
    OK(cuGraphDestroyNode(ca));
    r.k("original_unaffected", describe(gr));
    r.k("find_removed", cuGraphNodeFindInClone(&x, a, c));
    r.k("find_null_out", cuGraphNodeFindInClone(nullptr, b, c));
    r.k("destroy_original", gr.destroy());
    r.k("clone_left", describe(c));
    Exec e(c);
    Stream s(NB);
    r.k("launch_clone", cuGraphLaunch(e, s));
    OK(cuStreamSynchronize(s));
  });
  add("graph.clone_of_clone", [](Rec& r) {
    Graph gr;
    CUgraphNode a = add_label(gr, {}, "a");
    CUgraph c1 = nullptr, c2 = nullptr;
    OK(cuGraphClone(&c1, gr));
    Graph o1(c1);
    OK(cuGraphClone(&c2, c1));
    Graph o2(c2);
    CUgraphNode x = nullptr, y = nullptr;
    r.k("find_from_original", cuGraphNodeFindInClone(&x, a, c2));
    OK(cuGraphNodeFindInClone(&x, a, c1));
    r.k("find_from_clone", cuGraphNodeFindInClone(&y, x, c2));
  });
  add("graph.clone_child", [](Rec& r) {
    Graph gr, ch;
    add_label(ch, {}, "in");
    CUgraphNode n = add_child(gr, {}, ch);
    CUgraph c = nullptr;
    OK(cuGraphClone(&c, gr));
    Graph own(c);
    CUgraphNode m = nullptr;
    OK(cuGraphNodeFindInClone(&m, n, c));
    CUgraph e1 = nullptr, e2 = nullptr;
    OK(cuGraphChildGraphNodeGetGraph(n, &e1));
    OK(cuGraphChildGraphNodeGetGraph(m, &e2));
    r.k("embedded_differ", e1 != e2);
    r.k("embedded", describe(e2));
    CUgraphNode in1 = nodes_of(e1).at(0), f = nullptr;
    r.k("find_inner_in_clone", cuGraphNodeFindInClone(&f, in1, c));
    r.k("find_inner_in_embedded", cuGraphNodeFindInClone(&f, in1, e2));
  });
}

}  // namespace weir::conformance
