// SPDX-License-Identifier: Apache-2.0
// cases/graph/cond.cpp - conditional nodes with default values: setting a condition needs a kernel.
#include "probe/probe.hpp"

#include <cstring>
#include <utility>

namespace weir::conformance {

void cond_cases() {
  add("cond.handle", [](Rec& r) {
    Graph gr;
    CUgraphConditionalHandle h = 0;
    r.k("flags0", cuGraphConditionalHandleCreate(&h, gr, g.ctx, 0, 0));
    r.k("assign_default",
        cuGraphConditionalHandleCreate(&h, gr, g.ctx, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
    r.k("flags2", cuGraphConditionalHandleCreate(&h, gr, g.ctx, 1, 2));
    r.k("null_out", cuGraphConditionalHandleCreate(nullptr, gr, g.ctx, 1, 0));
    r.k("null_graph", cuGraphConditionalHandleCreate(&h, nullptr, g.ctx, 1, 0));
    r.k("null_ctx", cuGraphConditionalHandleCreate(&h, gr, nullptr, 1, 0));
    CUgraphExec x = nullptr;
    CUDA_GRAPH_INSTANTIATE_PARAMS p;
    memset(&p, 0, sizeof p);
    r.k("instantiate_unused", cuGraphInstantiateWithParams(&x, gr, &p));
    r.k("result", p.result_out);
    if (x) cuGraphExecDestroy(x);
  });
  for (unsigned value : {0u, 1u, 5u}) {
    add("cond.if_default_" + std::to_string(value), [value](Rec& r) {
      Stream s(NB);
      Cell c = new_cell(), d = new_cell();
      Graph gr;
      CUgraphConditionalHandle h = 0;
      OK(cuGraphConditionalHandleCreate(&h, gr, g.ctx, value, CU_GRAPH_COND_ASSIGN_DEFAULT));
      CUgraphNodeParams p = cond_params(h, CU_GRAPH_COND_TYPE_IF, 1);
      CUgraphNode n = nullptr;
      r.k("add", cuGraphAddNode(&n, gr, nullptr, nullptr, 0, &p));
      if (!n) return;
      r.k("type", type_of(n));
      CUgraph body = p.conditional.phGraph_out ? p.conditional.phGraph_out[0] : nullptr;
      r.k("body", body != nullptr);
      if (!body) return;
      add_memset(body, {}, c.d, 1);
      add_memset(gr, {n}, d.d, 1);
      CUgraphExec x = nullptr;
      r.k("instantiate", cuGraphInstantiate(&x, gr, 0));
      if (!x) return;
      r.k("launch", cuGraphLaunch(x, s));
      r.k("sync", cuStreamSynchronize(s));
      r.k("body_ran", c.get());
      r.k("after_ran", d.get());
      cuGraphExecDestroy(x);
    });
  }
  for (unsigned value : {0u, 1u}) {
    add("cond.if_else_default_" + std::to_string(value), [value](Rec& r) {
      Stream s(NB);
      Cell c = new_cell(), d = new_cell();
      Graph gr;
      CUgraphConditionalHandle h = 0;
      OK(cuGraphConditionalHandleCreate(&h, gr, g.ctx, value, CU_GRAPH_COND_ASSIGN_DEFAULT));
      CUgraphNodeParams p = cond_params(h, CU_GRAPH_COND_TYPE_IF, 2);
      CUgraphNode n = nullptr;
      CUresult e = r.k("add", cuGraphAddNode(&n, gr, nullptr, nullptr, 0, &p));
      if (e != CUDA_SUCCESS || !p.conditional.phGraph_out) return;
      add_memset(p.conditional.phGraph_out[0], {}, c.d, 1);
      add_memset(p.conditional.phGraph_out[1], {}, d.d, 1);
      CUgraphExec x = nullptr;
      r.k("instantiate", cuGraphInstantiate(&x, gr, 0));
      if (!x) return;
      r.k("launch", cuGraphLaunch(x, s));
      r.k("sync", cuStreamSynchronize(s));
      r.k("then_ran", c.get());
      r.k("else_ran", d.get());
      cuGraphExecDestroy(x);
    });
  }
  for (unsigned value : {0u, 1u, 2u, 7u}) {
    add("cond.switch_default_" + std::to_string(value), [value](Rec& r) {
      Stream s(NB);
      Cell c[3] = {new_cell(), new_cell(), new_cell()};
      Graph gr;
      CUgraphConditionalHandle h = 0;
      OK(cuGraphConditionalHandleCreate(&h, gr, g.ctx, value, CU_GRAPH_COND_ASSIGN_DEFAULT));
      CUgraphNodeParams p = cond_params(h, CU_GRAPH_COND_TYPE_SWITCH, 3);
      CUgraphNode n = nullptr;
      CUresult e = r.k("add", cuGraphAddNode(&n, gr, nullptr, nullptr, 0, &p));
      if (e != CUDA_SUCCESS || !p.conditional.phGraph_out) return;
      for (int i = 0; i < 3; i++) add_memset(p.conditional.phGraph_out[i], {}, c[i].d, 1);
      CUgraphExec x = nullptr;
      r.k("instantiate", cuGraphInstantiate(&x, gr, 0));
      if (!x) return;
      r.k("launch", cuGraphLaunch(x, s));
      r.k("sync", cuStreamSynchronize(s));
      r.k("ran",
          std::to_string(c[0].get()) + std::to_string(c[1].get()) + std::to_string(c[2].get()));
      cuGraphExecDestroy(x);
    });
  }
  add("cond.while_default_0", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell();
    Graph gr;
    CUgraphConditionalHandle h = 0;
    OK(cuGraphConditionalHandleCreate(&h, gr, g.ctx, 0, CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUgraphNodeParams p = cond_params(h, CU_GRAPH_COND_TYPE_WHILE, 1);
    CUgraphNode n = nullptr;
    CUresult e = r.k("add", cuGraphAddNode(&n, gr, nullptr, nullptr, 0, &p));
    if (e != CUDA_SUCCESS || !p.conditional.phGraph_out) return;
    add_memset(p.conditional.phGraph_out[0], {}, c.d, 1);
    CUgraphExec x = nullptr;
    r.k("instantiate", cuGraphInstantiate(&x, gr, 0));
    if (!x) return;
    r.k("launch", cuGraphLaunch(x, s));
    r.k("sync", cuStreamSynchronize(s));
    r.k("body_ran", c.get());
    cuGraphExecDestroy(x);
  });
  add("cond.bad_sizes", [](Rec& r) {
    struct {
      const char* n;
      CUgraphConditionalNodeType t;
      unsigned size;
    } list[] = {{"if0", CU_GRAPH_COND_TYPE_IF, 0},
                {"if3", CU_GRAPH_COND_TYPE_IF, 3},
                {"while0", CU_GRAPH_COND_TYPE_WHILE, 0},
                {"while2", CU_GRAPH_COND_TYPE_WHILE, 2},
                {"switch0", CU_GRAPH_COND_TYPE_SWITCH, 0},
                {"switch1", CU_GRAPH_COND_TYPE_SWITCH, 1},
                {"switch8", CU_GRAPH_COND_TYPE_SWITCH, 8},
                {"type9", static_cast<CUgraphConditionalNodeType>(9), 1}};
    for (auto& x : list) {
      Graph gr;
      CUgraphConditionalHandle h = 0;
      OK(cuGraphConditionalHandleCreate(&h, gr, g.ctx, 0, CU_GRAPH_COND_ASSIGN_DEFAULT));
      CUgraphNodeParams p = cond_params(h, x.t, x.size);
      CUgraphNode n = nullptr;
      r.k(x.n, cuGraphAddNode(&n, gr, nullptr, nullptr, 0, &p));
    }
  });
  add("cond.restrictions", [](Rec& r) {
    Graph gr, parent, other;
    CUgraphConditionalHandle h = 0, foreign = 0;
    OK(cuGraphConditionalHandleCreate(&h, gr, g.ctx, 0, CU_GRAPH_COND_ASSIGN_DEFAULT));
    OK(cuGraphConditionalHandleCreate(&foreign, other, g.ctx, 0, CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUgraphNodeParams p = cond_params(h, CU_GRAPH_COND_TYPE_IF, 1);
    CUgraphNode n = nullptr, m = nullptr;
    CUresult e = r.k("add", cuGraphAddNode(&n, gr, nullptr, nullptr, 0, &p));
    if (e != CUDA_SUCCESS || !p.conditional.phGraph_out) return;
    CUgraph body = p.conditional.phGraph_out[0];
    CUgraphNodeParams q = cond_params(foreign, CU_GRAPH_COND_TYPE_IF, 1);
    r.k("foreign_handle", cuGraphAddNode(&m, gr, nullptr, nullptr, 0, &q));
    q = cond_params(h, CU_GRAPH_COND_TYPE_IF, 1);
    r.k("same_handle_twice", cuGraphAddNode(&m, gr, nullptr, nullptr, 0, &q));
    q = cond_params(0, CU_GRAPH_COND_TYPE_IF, 1);
    r.k("handle0", cuGraphAddNode(&m, gr, nullptr, nullptr, 0, &q));
    CUgraph c = nullptr;
    r.k("clone", cuGraphClone(&c, gr));
    if (c) cuGraphDestroy(c);
    r.k("as_child", cuGraphAddChildGraphNode(&m, parent, nullptr, 0, gr));
    CUgraphExec x = nullptr, y = nullptr;
    CUDA_GRAPH_INSTANTIATE_PARAMS ip;
    memset(&ip, 0, sizeof ip);
    r.k("instantiate", cuGraphInstantiateWithParams(&x, gr, &ip));
    r.k("result", ip.result_out);
    r.k("second_instance", cuGraphInstantiate(&y, gr, 0));
    if (y) cuGraphExecDestroy(y);
    if (x) cuGraphExecDestroy(x);
    r.k("instantiate_body", cuGraphInstantiate(&x, body, 0));
    r.k("destroy_body", cuGraphDestroy(body));
  });
  for (const char* kind :
       {"empty", "memset", "memset_2d", "memcpy", "memcpy_d2d", "host", "record", "wait", "memop",
        "child_empty", "child_memset", "child_host", "alloc_free", "nested_if", "nested_if_host"})
    add(std::string("cond.body.") + kind, [kind](Rec& r) {
      // what a body may contain: whether it can be added, instantiated, launched
      std::string k = kind;
      Stream s(NB);
      Cell c = new_cell();
      Trace& t = new_trace();
      Graph gr, inner;
      CUgraphConditionalHandle h = 0;
      OK(cuGraphConditionalHandleCreate(&h, gr, g.ctx, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
      CUgraphNodeParams p = cond_params(h, CU_GRAPH_COND_TYPE_IF, 1);
      CUgraphNode n = nullptr, m = nullptr;
      OK(cuGraphAddNode(&n, gr, nullptr, nullptr, 0, &p));
      CUgraph body = p.conditional.phGraph_out ? p.conditional.phGraph_out[0] : nullptr;
      if (!body) throw Abort{"no_body"};
      Event ev;
      if (k == "empty") {
        r.k("add", cuGraphAddEmptyNode(&m, body, nullptr, 0));
      } else if (k == "memset" || k == "memset_2d") {
        CUDA_MEMSET_NODE_PARAMS q =
            k == "memset" ? memset_params(c.d, 1) : memset_params(g.dbuf, 1, 4, 4, 3, 256);
        r.k("add", cuGraphAddMemsetNode(&m, body, nullptr, 0, &q, g.ctx));
      } else if (k == "memcpy" || k == "memcpy_d2d") {
        memset(g.pin, 0, 64);
        g.pin[0] = 1;
        CUDA_MEMCPY3D q =
            k == "memcpy" ? copy_h2d(c.d, g.pin, 4) : copy_d2d(g.dbuf + 4096, g.dbuf, 64);
        r.k("add", cuGraphAddMemcpyNode(&m, body, nullptr, 0, &q, g.ctx));
      } else if (k == "host") {
        CUDA_HOST_NODE_PARAMS q{};
        q.fn = label_fn;
        q.userData = new_label("x", &t);
        r.k("add", cuGraphAddHostNode(&m, body, nullptr, 0, &q));
      } else if (k == "record") {
        r.k("add", cuGraphAddEventRecordNode(&m, body, nullptr, 0, ev));
      } else if (k == "wait") {
        r.k("add", cuGraphAddEventWaitNode(&m, body, nullptr, 0, ev));
      } else if (k == "memop") {
        CUstreamBatchMemOpParams op = op_write(c.d, 1);
        CUDA_BATCH_MEM_OP_NODE_PARAMS q{};
        q.ctx = g.ctx;
        q.count = 1;
        q.paramArray = &op;
        r.k("add", cuGraphAddBatchMemOpNode(&m, body, nullptr, 0, &q));
      } else if (k.rfind("child_", 0) == 0) {
        if (k == "child_empty") add_empty(inner);
        if (k == "child_memset") add_memset(inner, {}, c.d, 1);
        if (k == "child_host") add_label(inner, {}, "x", &t);
        r.k("add", cuGraphAddChildGraphNode(&m, body, nullptr, 0, inner));
      } else if (k == "alloc_free") {
        auto ap = alloc_params(64);
        r.k("add", cuGraphAddMemAllocNode(&m, body, nullptr, 0, &ap));
        CUgraphNode f = nullptr;
        if (m) r.k("add_free", cuGraphAddMemFreeNode(&f, body, &m, 1, ap.dptr));
      } else {
        CUgraphConditionalHandle h2 = 0;
        CUresult e = r.k("handle_of_body", cuGraphConditionalHandleCreate(
                                               &h2, body, g.ctx, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
        if (e != CUDA_SUCCESS)
          OK(cuGraphConditionalHandleCreate(&h2, gr, g.ctx, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
        CUgraphNodeParams q = cond_params(h2, CU_GRAPH_COND_TYPE_IF, 1);
        e = r.k("add", cuGraphAddNode(&m, body, nullptr, nullptr, 0, &q));
        if (e == CUDA_SUCCESS && q.conditional.phGraph_out) {
          if (k == "nested_if") add_memset(q.conditional.phGraph_out[0], {}, c.d, 1);
          if (k == "nested_if_host") add_label(q.conditional.phGraph_out[0], {}, "x", &t);
        }
      }
      CUgraphExec x = nullptr;
      CUDA_GRAPH_INSTANTIATE_PARAMS ip;
      memset(&ip, 0, sizeof ip);
      r.k("instantiate", cuGraphInstantiateWithParams(&x, gr, &ip));
      r.k("result", ip.result_out);
      r.k("error_node_is_body_node", ip.hErrNode_out && ip.hErrNode_out == m);
      r.k("error_node_is_conditional", ip.hErrNode_out && ip.hErrNode_out == n);
      if (!x) return;
      r.k("launch", cuGraphLaunch(x, s));
      r.k("sync", cuStreamSynchronize(s));
      r.k("cell", c.get());
      r.k("host", t.str());
      cuGraphExecDestroy(x);
    });
  add("cond.relaunch_and_update", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell(), d = new_cell();
    auto make = [&](CUgraph gr, unsigned value, const Cell& to, unsigned what, CUgraphNode* node) {
      CUgraphConditionalHandle h = 0;
      OK(cuGraphConditionalHandleCreate(&h, gr, g.ctx, value, CU_GRAPH_COND_ASSIGN_DEFAULT));
      CUgraphNodeParams p = cond_params(h, CU_GRAPH_COND_TYPE_IF, 1);
      OK(cuGraphAddNode(node, gr, nullptr, nullptr, 0, &p));
      if (!p.conditional.phGraph_out) throw Abort{"no_body"};
      add_memset(p.conditional.phGraph_out[0], {}, to.d, what);
    };
    Graph g1, g2, g3;
    CUgraphNode n1 = nullptr, n2 = nullptr, n3 = nullptr;
    make(g1, 1, c, 1, &n1);
    make(g2, 1, d, 2, &n2);
    make(g3, 0, d, 3, &n3);
    CUgraphExec x = nullptr, y = nullptr;
    r.k("instantiate", cuGraphInstantiate(&x, g1, 0));
    if (!x) return;
    r.k("second_instance", cuGraphInstantiate(&y, g1, 0));
    if (y) cuGraphExecDestroy(y);
    r.k("launch", cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("ran", c.get());
    c.set(0);
    r.k("launch_again", cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("ran_again", c.get());
    int on = 0;
    r.k("get_enabled", cuGraphNodeGetEnabled(x, n1, reinterpret_cast<unsigned*>(&on)));
    r.k("disable", cuGraphNodeSetEnabled(x, n1, 0));
    for (auto& [k, gr] :
         {std::pair<const char*, CUgraph>{"other_body", g2}, {"other_default", g3}}) {
      CUgraphExecUpdateResultInfo info;
      memset(&info, 0, sizeof info);
      r.k(k, cuGraphExecUpdate(x, gr, &info));
      r.k(std::string(k) + ".result", info.result);
    }
    c.set(0);
    d.set(0);
    r.k("launch_updated", cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("~c", c.get());
    r.k("~d", d.get());
    cuGraphExecDestroy(x);
    r.k("destroy_node", cuGraphDestroyNode(n2));
  });
  add("cond.capture_into_body", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell();
    Graph gr;
    CUgraphConditionalHandle h = 0;
    OK(cuGraphConditionalHandleCreate(&h, gr, g.ctx, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUgraphNodeParams p = cond_params(h, CU_GRAPH_COND_TYPE_IF, 1);
    CUgraphNode n = nullptr;
    CUresult e = r.k("add", cuGraphAddNode(&n, gr, nullptr, nullptr, 0, &p));
    if (e != CUDA_SUCCESS || !p.conditional.phGraph_out) return;
    CUgraph body = p.conditional.phGraph_out[0];
    r.k("begin", cuStreamBeginCaptureToGraph(s, body, nullptr, nullptr, 0, RELAXED));
    r.k("memset", cuMemsetD32Async(c.d, 1, 1, s));
    CUgraph out = nullptr;
    r.k("end", cuStreamEndCapture(s, &out));
    r.k("out_same", out == body);
    CUgraphExec x = nullptr;
    r.k("instantiate", cuGraphInstantiate(&x, gr, 0));
    if (!x) return;
    r.k("launch", cuGraphLaunch(x, s));
    r.k("sync", cuStreamSynchronize(s));
    r.k("body_ran", c.get());
    cuGraphExecDestroy(x);
  });
}

}  // namespace weir::conformance
