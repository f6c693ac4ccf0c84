// SPDX-License-Identifier: Apache-2.0
// cases/kernel/kernel_nodes.cpp - kernel nodes.
#include "cases/graph/graph_update.hpp"
#include "cases/kernel/kernels.hpp"
#include "probe/probe.hpp"

#include <cstring>

namespace weir::conformance {

void kernel_nodes_cases() {
  add("kernel.conditional_body", [](Rec& r) {
    kern();
    Stream s(NB);
    Cell c = new_cell();
    Graph gr;
    CUgraphConditionalHandle h = 0;
    OK(cuGraphConditionalHandleCreate(&h, gr, g.ctx, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUgraphNodeParams p = cond_params(h, CU_GRAPH_COND_TYPE_IF, 1);
    CUgraphNode n = nullptr;
    OK(cuGraphAddNode(&n, gr, nullptr, nullptr, 0, &p));
    if (!p.conditional.phGraph_out) throw Abort{"no_body"};
    add_store(p.conditional.phGraph_out[0], {}, c.d, 9);
    CUgraphExec x = nullptr;
    r.k("instantiate", cuGraphInstantiate(&x, gr, 0));
    if (!x) return;
    r.k("launch", cuGraphLaunch(x, s));
    r.k("sync", cuStreamSynchronize(s));
    r.k("value", c.get());
    cuGraphExecDestroy(x);
  });
  // The generic call, with the function's context, without one, and with none current.
  const auto add_generic = [](Rec& r, bool with_context, bool current) {
    Cell c = new_cell();
    Graph gr;
    CUdeviceptr d = c.d;
    unsigned value = 3;
    void* arguments[] = {&d, &value};
    CUgraphNodeParams p;
    memset(&p, 0, sizeof p);
    p.type = CU_GRAPH_NODE_TYPE_KERNEL;
    p.kernel.func = kern().store;
    p.kernel.gridDimX = p.kernel.gridDimY = p.kernel.gridDimZ = 1;
    p.kernel.blockDimX = p.kernel.blockDimY = p.kernel.blockDimZ = 1;
    p.kernel.kernelParams = arguments;
    if (with_context) p.kernel.ctx = g.ctx;
    CUcontext mine = nullptr;
    if (!current) OK(cuCtxPopCurrent(&mine));
    CUgraphNode n = nullptr;
    r.k("add", cuGraphAddNode(&n, gr, nullptr, nullptr, 0, &p));
    if (!current) OK(cuCtxPushCurrent(mine));
  };
  add("kernel.add_generic", ISO, [=](Rec& r) { add_generic(r, false, true); });
  add("kernel.add_generic_context", ISO, [=](Rec& r) { add_generic(r, true, true); });
  add("kernel.add_generic_none_current", ISO, [=](Rec& r) { add_generic(r, true, false); });
  add("kernel.add_none_current", ISO, [](Rec& r) {
    Cell c = new_cell();
    Graph gr;
    kern();
    CUcontext mine = nullptr;
    OK(cuCtxPopCurrent(&mine));
    add_store(gr, {}, c.d, 3);
    r.k("add", CUDA_SUCCESS);
    OK(cuCtxPushCurrent(mine));
  });
  add("kernel.node_params", [](Rec& r) {
    Cell c = new_cell();
    Graph gr;
    CUgraphNode n = add_store(gr, {}, c.d, 3);
    CUDA_KERNEL_NODE_PARAMS p;
    memset(&p, 0, sizeof p);
    r.k("get", cuGraphKernelNodeGetParams(n, &p));
    r.k("func_same", p.func == kern().store);
    r.k("grid", p.gridDimX * p.gridDimY * p.gridDimZ);
    r.k("params_not_null", p.kernelParams != nullptr);
    r.k("param_value", p.kernelParams ? *static_cast<unsigned*>(p.kernelParams[1]) : 0u);
    CUDA_KERNEL_NODE_PARAMS q = p;
    unsigned v = 4;
    CUdeviceptr d = c.d;
    void* a[] = {&d, &v};
    q.kernelParams = a;
    r.k("set", cuGraphKernelNodeSetParams(n, &q));
    q.gridDimX = 0;
    r.k("set_grid0", cuGraphKernelNodeSetParams(n, &q));
    q.gridDimX = 1;
    q.blockDimX = 4096;
    r.k("set_block4096", cuGraphKernelNodeSetParams(n, &q));
    CUDA_KERNEL_NODE_PARAMS z;
    memset(&z, 0, sizeof z);
    CUgraphNode m = nullptr;
    r.k("add_null_func", cuGraphAddKernelNode(&m, gr, nullptr, 0, &z));
    Exec x(gr);
    Stream s(NB);
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("value", c.get());
  });
  add("kernel.exec_set_params", [](Rec& r) {
    Cell c = new_cell();
    Graph gr;
    CUgraphNode n = add_store(gr, {}, c.d, 3);
    Exec x(gr);
    CUDA_KERNEL_NODE_PARAMS p;
    memset(&p, 0, sizeof p);
    unsigned v = 8;
    CUdeviceptr d = c.d;
    void* a[] = {&d, &v};
    p.func = kern().store;
    p.gridDimX = p.gridDimY = p.gridDimZ = p.blockDimX = p.blockDimY = p.blockDimZ = 1;
    p.kernelParams = a;
    r.k("params", cuGraphExecKernelNodeSetParams(x, n, &p));
    Stream s(NB);
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("value", c.get());
    p.func = kern().addone;
    r.k("function", cuGraphExecKernelNodeSetParams(x, n, &p));
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("value2", c.get());
    p.gridDimX = 2;
    p.blockDimX = 32;
    r.k("dimensions", cuGraphExecKernelNodeSetParams(x, n, &p));
    r.k("disable", cuGraphNodeSetEnabled(x, n, 0));
    c.set(0);
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("disabled_value", c.get());
    unsigned en = 9;
    OK(cuGraphNodeGetEnabled(x, n, &en));
    r.k("enabled", en);
  });
  add("kernel.exec_update", [](Rec& r) {
    Cell c = new_cell();
    Graph gr, n, m;
    add_store(gr, {}, c.d, 3);
    add_store(n, {}, c.d, 4);
    Exec x(gr);
    rec_update(r, "params", x, n);
    Stream s(NB);
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("value", c.get());
    CUDA_KERNEL_NODE_PARAMS p;
    memset(&p, 0, sizeof p);
    CUdeviceptr d = c.d;
    void* a[] = {&d};
    p.func = kern().addone;
    p.gridDimX = p.gridDimY = p.gridDimZ = p.blockDimX = p.blockDimY = p.blockDimZ = 1;
    p.kernelParams = a;
    CUgraphNode k = nullptr;
    OK(cuGraphAddKernelNode(&k, m, nullptr, 0, &p));
    rec_update(r, "function", x, m);
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("value2", c.get());
  });
  add("kernel.node_attributes", [](Rec& r) {
    Cell c = new_cell();
    Graph gr;
    CUgraphNode a = add_store(gr, {}, c.d, 1), b = add_store(gr, {}, c.d, 2);
    CUkernelNodeAttrValue v;
    memset(&v, 0x11, sizeof v);
    r.k("get_priority", cuGraphKernelNodeGetAttribute(a, CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &v));
    r.k("priority", v.priority);
    memset(&v, 0, sizeof v);
    v.priority = -2;
    r.k("set_priority", cuGraphKernelNodeSetAttribute(a, CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &v));
    r.k("copy", cuGraphKernelNodeCopyAttributes(b, a));
    memset(&v, 0, sizeof v);
    OK(cuGraphKernelNodeGetAttribute(b, CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &v));
    r.k("copied", v.priority);
    memset(&v, 0, sizeof v);
    r.k("get_cooperative",
        cuGraphKernelNodeGetAttribute(a, CU_KERNEL_NODE_ATTRIBUTE_COOPERATIVE, &v));
    r.k("cooperative", v.cooperative);
    r.k("get_sync_policy",
        cuGraphKernelNodeGetAttribute(a, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
    r.k("get_bad", cuGraphKernelNodeGetAttribute(a, static_cast<CUkernelNodeAttrID>(99), &v));
  });
  add("kernel.capture_priority", [](Rec& r) {
    Stream s(NB, -3);
    Cell c = new_cell();
    kern();
    begin(s);
    OK(k_store(s, c, 1));
    Graph gr(end_ok(s));
    CUkernelNodeAttrValue v;
    memset(&v, 0x11, sizeof v);
    CUgraphNode n = nodes_of(gr).at(0);
    r.k("get", cuGraphKernelNodeGetAttribute(n, CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &v));
    r.k("priority", v.priority);
    Graph other(nullptr);
    begin(s);
    OK(k_store(s, c, 2));
    other.h = end_ok(s);
    memset(&v, 0, sizeof v);
    v.priority = 0;
    OK(cuGraphKernelNodeSetAttribute(nodes_of(other).at(0), CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &v));
    Exec x(gr, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
    rec_update(r, "update_other_priority", x, other);
    Exec y(gr);
    rec_update(r, "update_other_priority_unflagged", y, other);
  });
  add("kernel.programmatic_edges", [](Rec& r) {
    Cell c = new_cell();
    Graph gr;
    CUgraphNode a = add_store(gr, {}, c.d, 1), b = add_store(gr, {}, c.d, 2);
    CUgraphEdgeData d;
    memset(&d, 0, sizeof d);
    d.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    d.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
    r.k("add", cuGraphAddDependencies(gr, &a, &b, &d, 1));
    CUgraphEdgeData e;
    memset(&e, 0, sizeof e);
    r.k("add_default_too", cuGraphAddDependencies(gr, &a, &b, &e, 1));
    size_t n = 4;
    CUgraphNode f[4], t[4];
    CUgraphEdgeData got[4];
    r.k("edges_count_only", cuGraphGetEdges(gr, nullptr, nullptr, nullptr, &n));
    n = 4;
    r.k("edges_without_data", cuGraphGetEdges(gr, f, t, nullptr, &n));
    n = 4;
    r.k("edges_with_data", cuGraphGetEdges(gr, f, t, got, &n));
    r.k("n", n);
    n = 4;
    r.k("deps_without_data", cuGraphNodeGetDependencies(b, f, nullptr, &n));
    n = 4;
    r.k("dependents_without_data", cuGraphNodeGetDependentNodes(a, f, nullptr, &n));
    r.k("remove_without_data", cuGraphRemoveDependencies(gr, &a, &b, nullptr, 1));
    r.k("remove_with_data", cuGraphRemoveDependencies(gr, &a, &b, &d, 1));
    CUgraphEdgeData port3 = d;
    port3.from_port = 3;
    r.k("port3", cuGraphAddDependencies(gr, &a, &b, &port3, 1));
    CUgraphEdgeData dflt = d;
    dflt.from_port = 0;
    r.k("programmatic_port0", cuGraphAddDependencies(gr, &a, &b, &dflt, 1));
    CUgraphNode h = add_label(gr, {}, "h");
    r.k("programmatic_to_host", cuGraphAddDependencies(gr, &a, &h, &d, 1));
  });
  add("kernel.device_launch_graph", [](Rec& r) {
    Cell c = new_cell();
    Graph gr;
    add_store(gr, {}, c.d, 6);
    CUgraphExec x = nullptr;
    r.k("instantiate", cuGraphInstantiate(&x, gr, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH));
    if (!x) return;
    Stream s(NB);
    r.k("launch_from_host", cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("value", c.get());
    cuGraphExecDestroy(x);
  });
}

}  // namespace weir::conformance
