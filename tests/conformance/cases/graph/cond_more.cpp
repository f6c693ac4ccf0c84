// SPDX-License-Identifier: Apache-2.0
// cases/graph/cond_more.cpp - conditional nodes: kept values, moved parents, updates, scope of
// handles, captures into bodies.
#include "probe/probe.hpp"

#include <cstring>

namespace weir::conformance {

namespace {
struct Made {
  CUgraphNode n = nullptr;
  CUgraph body = nullptr;
  CUgraphConditionalHandle h = 0;
};
Made make(CUgraph gr, unsigned value, unsigned flags = CU_GRAPH_COND_ASSIGN_DEFAULT,
          CUgraphConditionalNodeType type = CU_GRAPH_COND_TYPE_IF, unsigned size = 1) {
  Made m;
  OK(cuGraphConditionalHandleCreate(&m.h, gr, g.ctx, value, flags));
  CUgraphNodeParams p = cond_params(m.h, type, size);
  OK(cuGraphAddNode(&m.n, gr, nullptr, nullptr, 0, &p));
  m.body = p.conditional.phGraph_out[0];
  return m;
}
}  // namespace

void cond_more_cases() {
  add("cond.kept_value", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell();
    Graph gr;
    Made m = make(gr, 1, 0);
    add_memset(m.body, {}, c.d, 1);
    Exec x(gr);
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("~body_ran", c.get());
  });
  add("cond.move_child", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell();
    Graph parent;
    CUgraph child = nullptr;
    OK(cuGraphCreate(&child, 0));
    Made m = make(child, 1);
    add_memset(m.body, {}, c.d, 1);
    CUgraphNodeParams p;
    memset(&p, 0, sizeof p);
    p.type = CU_GRAPH_NODE_TYPE_GRAPH;
    p.graph.graph = child;
    p.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
    CUgraphNode n = nullptr;
    if (r.k("move", cuGraphAddNode(&n, parent, nullptr, nullptr, 0, &p)) != CUDA_SUCCESS) return;
    CUgraphExec x = nullptr;
    r.k("instantiate", cuGraphInstantiate(&x, parent, 0));
    if (!x) return;
    r.k("launch", cuGraphLaunch(x, s));
    r.k("sync", cuStreamSynchronize(s));
    r.k("~body_ran", c.get());
    cuGraphExecDestroy(x);
  });
  add("cond.null_ctx", [](Rec& r) {
    Graph gr;
    CUgraphConditionalHandle h = 0;
    OK(cuGraphConditionalHandleCreate(&h, gr, g.ctx, 0, CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUgraphNodeParams p = cond_params(h, CU_GRAPH_COND_TYPE_IF, 1);
    p.conditional.ctx = nullptr;
    CUgraphNode n = nullptr;
    r.k("add", cuGraphAddNode(&n, gr, nullptr, nullptr, 0, &p));
  });
  add("cond.instantiate_again", [](Rec& r) {
    Graph gr;
    make(gr, 1);
    CUgraphExec x = nullptr;
    r.k("first", cuGraphInstantiate(&x, gr, 0));
    if (x) cuGraphExecDestroy(x);
    x = nullptr;
    r.k("after_destroy", cuGraphInstantiate(&x, gr, 0));
    if (x) cuGraphExecDestroy(x);
  });
  add("cond.set_params", [](Rec& r) {
    Graph gr;
    Made m = make(gr, 1);
    CUgraphNodeParams p = cond_params(m.h, CU_GRAPH_COND_TYPE_IF, 1);
    r.k("node", cuGraphNodeSetParams(m.n, &p));
    CUgraphExec x = nullptr;
    r.k("instantiate", cuGraphInstantiate(&x, gr, 0));
    if (!x) return;
    r.k("exec", cuGraphExecNodeSetParams(x, m.n, &p));
    cuGraphExecDestroy(x);
  });
  add("cond.set_body_node", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell();
    Graph gr;
    Made m = make(gr, 1);
    CUgraphNode in = add_memset(m.body, {}, c.d, 1);
    CUgraphExec x = nullptr;
    r.k("instantiate", cuGraphInstantiate(&x, gr, 0));
    if (!x) return;
    CUDA_MEMSET_NODE_PARAMS q = memset_params(c.d, 2);
    r.k("set", cuGraphExecMemsetNodeSetParams(x, in, &q, g.ctx));
    r.k("disable", cuGraphNodeSetEnabled(x, in, 0));
    r.k("launch", cuGraphLaunch(x, s));
    r.k("sync", cuStreamSynchronize(s));
    r.k("cell", c.get());
    cuGraphExecDestroy(x);
  });
  add("cond.update_kind", [](Rec& r) {
    Graph a, b, d;
    make(a, 0);
    make(b, 0, CU_GRAPH_COND_ASSIGN_DEFAULT, CU_GRAPH_COND_TYPE_WHILE);
    make(d, 0, CU_GRAPH_COND_ASSIGN_DEFAULT, CU_GRAPH_COND_TYPE_IF, 2);
    CUgraphExec x = nullptr;
    OK(cuGraphInstantiate(&x, a, 0));
    for (auto& [k, gr] : {std::pair<const char*, CUgraph>{"type", b}, {"size", d}}) {
      CUgraphExecUpdateResultInfo info;
      memset(&info, 0, sizeof info);
      r.k(k, cuGraphExecUpdate(x, gr, &info));
      r.k(std::string(k) + ".result", info.result);
      r.k(std::string(k) + ".node", info.errorNode != nullptr);
    }
    cuGraphExecDestroy(x);
  });
  add("cond.handle_scope", [](Rec& r) {
    Graph gr;
    Made m = make(gr, 0);
    CUgraphConditionalHandle outer = 0, of_body = 0;
    OK(cuGraphConditionalHandleCreate(&outer, gr, g.ctx, 0, CU_GRAPH_COND_ASSIGN_DEFAULT));
    OK(cuGraphConditionalHandleCreate(&of_body, m.body, g.ctx, 0, CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUgraphNodeParams p = cond_params(outer, CU_GRAPH_COND_TYPE_IF, 1);
    CUgraphNode n = nullptr;
    r.k("outer_in_body", cuGraphAddNode(&n, m.body, nullptr, nullptr, 0, &p));
    p = cond_params(of_body, CU_GRAPH_COND_TYPE_IF, 1);
    r.k("body_in_outer", cuGraphAddNode(&n, gr, nullptr, nullptr, 0, &p));
    Graph other;
    Made o = make(other, 0);
    OK(cuGraphDestroyNode(o.n));
    p = cond_params(o.h, CU_GRAPH_COND_TYPE_IF, 1);
    r.k("after_its_node", cuGraphAddNode(&n, other, nullptr, nullptr, 0, &p));
  });
  add("cond.captured_into_meanwhile", ISO, [](Rec& r) {
    Stream s(NB);
    Graph gr;
    Made m = make(gr, 0);
    OK(cuStreamBeginCaptureToGraph(s, m.body, nullptr, nullptr, 0, RELAXED));
    r.k("destroy_node", cuGraphDestroyNode(m.n));
    CUgraph out = nullptr;
    r.k("end", cuStreamEndCapture(s, &out));
  });
  add("cond.broken_capture", ISO, [](Rec& r) {
    // An H200's driver destroys the body with the invalidated capture, and crashes if its graph is
    // used or destroyed afterwards.
    Stream s(NB);
    Cell c = new_cell();
    CUgraph gr = nullptr;
    OK(cuGraphCreate(&gr, 0));
    Made m = make(gr, 0);
    OK(cuStreamBeginCaptureToGraph(s, m.body, nullptr, nullptr, 0, RELAXED));
    OK(cuMemsetD32Async(c.d, 1, 1, s));
    r.k("sync", cuStreamSynchronize(s));
    CUgraph out = nullptr;
    r.k("end", cuStreamEndCapture(s, &out));
    r.k("out", out != nullptr);
  });
}

}  // namespace weir::conformance
