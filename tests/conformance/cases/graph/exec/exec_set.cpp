// SPDX-License-Identifier: Apache-2.0
// cases/graph/exec/exec_set.cpp - setting the parameters of one node.
#include "probe/probe.hpp"

#include <cstring>

namespace weir::conformance {

void exec_set_cases() {
  add("exec.set_host", [](Rec& r) {
    Stream s(NB);
    Trace& t = new_trace();
    Graph gr, other;
    CUgraphNode a = add_label(gr, {}, "a", &t), b = add_empty(gr, {a}),
                f = add_label(other, {}, "f", &t);
    Exec x(gr);
    CUDA_HOST_NODE_PARAMS p{};
    p.fn = label_fn;
    p.userData = new_label("new", &t);
    r.k("set", cuGraphExecHostNodeSetParams(x, a, &p));
    r.k("node_unchanged", node_label(a));
    r.k("wrong_node_type", cuGraphExecHostNodeSetParams(x, b, &p));
    r.k("foreign_node", cuGraphExecHostNodeSetParams(x, f, &p));
    r.k("null_params", cuGraphExecHostNodeSetParams(x, a, nullptr));
    r.k("null_node", cuGraphExecHostNodeSetParams(x, nullptr, &p));
    CUDA_HOST_NODE_PARAMS z{};
    r.k("null_fn", cuGraphExecHostNodeSetParams(x, a, &z));
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("ran", t.str());
  });
  add("exec.set_while_running", [](Rec& r) {
    Stream s(NB);
    ValueGate v;
    Trace& t = new_trace();
    Graph gr;
    CUgraphNode w = add_gate(gr, {}, v), a = add_label(gr, {w}, "old", &t);
    Exec x(gr);
    OK(cuGraphLaunch(x, s));
    CUDA_HOST_NODE_PARAMS p{};
    p.fn = label_fn;
    p.userData = new_label("new", &t);
    record_blocking(
        r, "set",
        blocking([&] { v.open(); }, [&] { return cuGraphExecHostNodeSetParams(x, a, &p); }));
    OK(cuGraphLaunch(x, s));
    v.open();
    OK(cuStreamSynchronize(s));
    r.k("order", t.str());
  });
  add("exec.set_memset", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell(), d = new_cell();
    Graph gr;
    CUgraphNode a = add_memset(gr, {}, c.d, 1);
    CUgraphNode two = nullptr;
    CUDA_MEMSET_NODE_PARAMS p2 = memset_params(g.dbuf, 1, 8, 4, 4, 256);
    OK(cuGraphAddMemsetNode(&two, gr, nullptr, 0, &p2, g.ctx));
    CUgraphNode wide = add_memset(gr, {}, g.dbuf + 65536, 1, 64);
    Exec x(gr);
    CUDA_MEMSET_NODE_PARAMS p = memset_params(c.d, 7);
    r.k("value", cuGraphExecMemsetNodeSetParams(x, a, &p, g.ctx));
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("value_now", c.get());
    p = memset_params(d.d, 8);
    r.k("address", cuGraphExecMemsetNodeSetParams(x, a, &p, g.ctx));
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("address_now", d.get());
    p = memset_params(g.dbuf, 8);
    r.k("to_device_memory", cuGraphExecMemsetNodeSetParams(x, a, &p, g.ctx));
    p = memset_params(d.d, 8, 0);
    r.k("width0", cuGraphExecMemsetNodeSetParams(x, a, &p, g.ctx));
    p = memset_params(g.dbuf + 65536, 8, 32);
    r.k("narrower", cuGraphExecMemsetNodeSetParams(x, wide, &p, g.ctx));
    p = memset_params(g.dbuf + 65536, 8, 128);
    r.k("~wider", cuGraphExecMemsetNodeSetParams(x, wide, &p, g.ctx));
    p = memset_params(g.dbuf + 65536, 8, 256, 1);
    r.k("~element_size", cuGraphExecMemsetNodeSetParams(x, wide, &p, g.ctx));
    p = memset_params(g.dbuf + 65536, 8, 8, 4, 2, 256);
    r.k("to_2d", cuGraphExecMemsetNodeSetParams(x, wide, &p, g.ctx));
    p = memset_params(g.dbuf, 9, 8, 4, 4, 256);
    r.k("2d_value", cuGraphExecMemsetNodeSetParams(x, two, &p, g.ctx));
    p = memset_params(g.dbuf, 9, 4, 4, 4, 256);
    r.k("2d_width", cuGraphExecMemsetNodeSetParams(x, two, &p, g.ctx));
    p = memset_params(d.d, 8);
    r.k("null_ctx", cuGraphExecMemsetNodeSetParams(x, a, &p, nullptr));
    r.k("launch_still", cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
  });
  add("exec.set_memcpy", [](Rec& r) {
    Stream s(NB);
    auto* h = reinterpret_cast<uint32_t*>(g.pin);
    h[0] = 3;
    h[1] = 4;
    h[2] = 0;
    Graph gr;
    CUgraphNode a = add_memcpy(gr, {}, copy_h2d(g.dbuf, h, 4));
    add_memcpy(gr, {a}, copy_d2h(h + 2, g.dbuf, 4));
    Exec x(gr);
    CUDA_MEMCPY3D p = copy_h2d(g.dbuf, h + 1, 4);
    r.k("source", cuGraphExecMemcpyNodeSetParams(x, a, &p, g.ctx));
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("copied", h[2]);
    p = copy_h2d(g.dbuf, h, 8);
    r.k("size", cuGraphExecMemcpyNodeSetParams(x, a, &p, g.ctx));
    p = copy_h2d(g.dbuf, h, 0);
    r.k("size0", cuGraphExecMemcpyNodeSetParams(x, a, &p, g.ctx));
    p = copy_d2h(h, g.dbuf, 4);
    r.k("direction", cuGraphExecMemcpyNodeSetParams(x, a, &p, g.ctx));
    p = copy_d2d(g.dbuf, g.dbuf + 4096, 4);
    r.k("host_to_device_source", cuGraphExecMemcpyNodeSetParams(x, a, &p, g.ctx));
    p = copy_h2d(g.dbuf, g.page, 4);
    r.k("~pinned_to_pageable", cuGraphExecMemcpyNodeSetParams(x, a, &p, g.ctx));
    p = copy_h2d(g.dbuf, h, 4);
    p.Height = 2;
    p.srcPitch = 64;
    p.dstPitch = 64;
    r.k("to_2d", cuGraphExecMemcpyNodeSetParams(x, a, &p, g.ctx));
    r.k("null_params", cuGraphExecMemcpyNodeSetParams(x, a, nullptr, g.ctx));
    r.k("launch_still", cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
  });
  add("exec.set_child", [](Rec& r) {
    Stream s(NB);
    Trace& t = new_trace();
    Graph gr, ch, same, more, type;
    add_label(ch, {}, "old", &t);
    CUgraphNode c = add_child(gr, {}, ch);
    add_label(same, {}, "new", &t);
    CUgraphNode q = add_label(more, {}, "m1", &t);
    add_label(more, {q}, "m2", &t);
    add_empty(type);
    Exec x(gr);
    r.k("same_topology", cuGraphExecChildGraphNodeSetParams(x, c, same));
    r.k("more_nodes", cuGraphExecChildGraphNodeSetParams(x, c, more));
    r.k("other_type", cuGraphExecChildGraphNodeSetParams(x, c, type));
    r.k("null_graph", cuGraphExecChildGraphNodeSetParams(x, c, nullptr));
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("ran", t.str());
  });
  add("exec.set_events", [](Rec& r) {
    Stream s(NB);
    Event e, f;
    Graph gr;
    ValueGate v;
    CUgraphNode w = add_gate(gr, {}, v), a = add_record(gr, {w}, e), b = add_wait(gr, {}, e);
    Exec x(gr);
    r.k("set_record", cuGraphExecEventRecordNodeSetEvent(x, a, f));
    r.k("set_wait", cuGraphExecEventWaitNodeSetEvent(x, b, f));
    r.k("record_on_wait", cuGraphExecEventRecordNodeSetEvent(x, b, f));
    r.k("wait_on_record", cuGraphExecEventWaitNodeSetEvent(x, a, f));
    r.k("null_event", cuGraphExecEventRecordNodeSetEvent(x, a, nullptr));
    OK(cuGraphLaunch(x, s));
    r.k("e", cuEventQuery(e));
    r.k("f", cuEventQuery(f));
    v.open();
    OK(cuStreamSynchronize(s));
    r.k("f_after", cuEventQuery(f));
  });
  add("exec.set_memop", [](Rec& r) {
    Stream s(NB);
    Cell a = new_cell(), b = new_cell();
    Graph gr;
    CUgraphNode n = add_memop(gr, {}, op_write(a.d, 1));
    Exec x(gr);
    CUstreamBatchMemOpParams op = op_write(b.d, 2);
    CUDA_BATCH_MEM_OP_NODE_PARAMS p{};
    p.ctx = g.ctx;
    p.count = 1;
    p.paramArray = &op;
    r.k("value_and_address", cuGraphExecBatchMemOpNodeSetParams(x, n, &p));
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("a", a.get());
    r.k("b", b.get());
    CUstreamBatchMemOpParams two[2] = {op, op};
    p.count = 2;
    p.paramArray = two;
    r.k("count", cuGraphExecBatchMemOpNodeSetParams(x, n, &p));
    CUstreamBatchMemOpParams w = op_wait(b.d, 2);
    p.count = 1;
    p.paramArray = &w;
    r.k("type", cuGraphExecBatchMemOpNodeSetParams(x, n, &p));
    p.paramArray = &op;
    p.ctx = nullptr;
    r.k("null_ctx", cuGraphExecBatchMemOpNodeSetParams(x, n, &p));
  });
  add("exec.set_generic", [](Rec& r) {
    Stream s(NB);
    Trace& t = new_trace();
    Graph gr;
    CUgraphNode a = add_label(gr, {}, "a", &t), e = add_empty(gr, {a});
    Exec x(gr);
    CUgraphNodeParams p;
    memset(&p, 0, sizeof p);
    p.type = CU_GRAPH_NODE_TYPE_HOST;
    p.host.fn = label_fn;
    p.host.userData = new_label("b", &t);
    r.k("host", cuGraphExecNodeSetParams(x, a, &p));
    r.k("wrong_type", cuGraphExecNodeSetParams(x, e, &p));
    memset(&p, 0, sizeof p);
    p.type = CU_GRAPH_NODE_TYPE_EMPTY;
    r.k("empty", cuGraphExecNodeSetParams(x, e, &p));
    r.k("null", cuGraphExecNodeSetParams(x, a, nullptr));
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("ran", t.str());
  });
}

}  // namespace weir::conformance
