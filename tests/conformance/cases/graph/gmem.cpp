// SPDX-License-Identifier: Apache-2.0
// cases/graph/gmem.cpp - memory allocation nodes.
#include "cases/graph/graph_update.hpp"
#include "probe/probe.hpp"

#include <cstring>

namespace weir::conformance {

void gmem_cases() {
  add("gmem.alloc_free_in_graph", [](Rec& r) {
    Stream s(NB);
    Graph gr;
    CUdeviceptr p = 0;
    auto* h = reinterpret_cast<uint32_t*>(g.pin);
    h[0] = 0;
    CUgraphNode a = add_alloc(gr, {}, 4096, &p);
    r.k("not_null", p != 0);
    CUgraphNode m = add_memset(gr, {a}, p, 21, 16), c = add_memcpy(gr, {m}, copy_d2h(h, p, 4));
    CUgraphNode f = add_free(gr, {c}, p);
    r.k("types", listed_types(gr));
    CUDA_MEM_ALLOC_NODE_PARAMS q;
    memset(&q, 0, sizeof q);
    r.k("get_alloc", cuGraphMemAllocNodeGetParams(a, &q));
    r.k("size", q.bytesize);
    r.k("same", q.dptr == p);
    CUdeviceptr fp = 0;
    r.k("get_free", cuGraphMemFreeNodeGetParams(f, &fp));
    r.k("free_same", fp == p);
    Exec x(gr);
    r.k("launch", cuGraphLaunch(x, s));
    r.k("launch2", cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("value", h[0]);
  });
  add("gmem.unfreed_relaunch", [](Rec& r) {
    Stream s(NB);
    Graph gr;
    CUdeviceptr p = 0;
    CUgraphNode a = add_alloc(gr, {}, 4096, &p);
    add_memset(gr, {a}, p, 22, 16);
    Exec x(gr);
    r.k("launch", cuGraphLaunch(x, s));
    r.k("relaunch", cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    uint32_t v = 0;
    r.k("read", cuMemcpyDtoH(&v, p, 4));
    r.k("value", v);
    unsigned ty = 0;
    r.k("attr", cuPointerGetAttribute(&ty, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
    r.k("free_async", cuMemFreeAsync(p, s));
    r.k("relaunch2", cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("mem_free", cuMemFree(p));
    r.k("relaunch3", cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("mem_free2", cuMemFree(p));
    r.k("free_again", cuMemFreeAsync(p, s));
    OK(cuStreamSynchronize(s));
  });
  add("gmem.auto_free", [](Rec& r) {
    Stream s(NB);
    Graph gr;
    CUdeviceptr p = 0;
    add_alloc(gr, {}, 4096, &p);
    CUgraphExec x = nullptr;
    r.k("instantiate", cuGraphInstantiate(&x, gr, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    if (!x) return;
    r.k("launch", cuGraphLaunch(x, s));
    r.k("relaunch", cuGraphLaunch(x, s));
    r.k("free", cuMemFreeAsync(p, s));
    OK(cuStreamSynchronize(s));
    cuGraphExecDestroy(x);
  });
  add("gmem.bad_free", [](Rec& r) {
    Graph gr;
    CUdeviceptr p = 0;
    CUgraphNode a = add_alloc(gr, {}, 4096, &p), n = nullptr;
    r.k("not_graph_memory", cuGraphAddMemFreeNode(&n, gr, &a, 1, g.dbuf));
    r.k("inner_address", cuGraphAddMemFreeNode(&n, gr, &a, 1, p + 16));
    r.k("no_dependency_on_alloc", cuGraphAddMemFreeNode(&n, gr, nullptr, 0, p));
    CUresult e = r.k("free", cuGraphAddMemFreeNode(&n, gr, &a, 1, p));
    CUgraphNode m = nullptr;
    r.k("second_free", cuGraphAddMemFreeNode(&m, gr, &n, e == CUDA_SUCCESS ? 1 : 0, p));
    r.k("types", listed_types(gr));
  });
  add("gmem.bad_alloc", [](Rec& r) {
    Graph gr;
    CUgraphNode n = nullptr;
    auto p = alloc_params(0);
    r.k("size0", cuGraphAddMemAllocNode(&n, gr, nullptr, 0, &p));
    p = alloc_params(64);
    p.poolProps.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    r.k("ipc_handle", cuGraphAddMemAllocNode(&n, gr, nullptr, 0, &p));
    p = alloc_params(64);
    p.poolProps.location.id = 99;
    r.k("bad_device", cuGraphAddMemAllocNode(&n, gr, nullptr, 0, &p));
    p = alloc_params(64);
    p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_INVALID;
    r.k("bad_type", cuGraphAddMemAllocNode(&n, gr, nullptr, 0, &p));
    p = alloc_params(1ull << 50);
    r.k("huge", cuGraphAddMemAllocNode(&n, gr, nullptr, 0, &p));
    r.k("nodes", count_nodes(gr));
  });
  add("gmem.restrictions", [](Rec& r) {
    Graph gr, parent;
    CUdeviceptr p = 0;
    CUgraphNode a = add_alloc(gr, {}, 4096, &p), b = add_empty(gr, {a}), f = add_free(gr, {b}, p);
    (void)f;
    r.k("remove_dependency", cuGraphRemoveDependencies(gr, &a, &b, nullptr, 1));
    r.k("destroy_node", cuGraphDestroyNode(b));
    CUgraph c = nullptr;
    r.k("clone", cuGraphClone(&c, gr));
    if (c) cuGraphDestroy(c);
    CUgraphNode n = nullptr;
    r.k("as_child", cuGraphAddChildGraphNode(&n, parent, nullptr, 0, gr));
    r.k("add_dependency", [&] {
      CUgraphNode e = nullptr;
      OK(cuGraphAddEmptyNode(&e, gr, nullptr, 0));
      return cuGraphAddDependencies(gr, &e, &b, nullptr, 1);
    }());
    CUgraphExec x = nullptr, y = nullptr;
    r.k("instantiate", cuGraphInstantiate(&x, gr, 0));
    r.k("second_instance", cuGraphInstantiate(&y, gr, 0));
    if (y) cuGraphExecDestroy(y);
    if (x) cuGraphExecDestroy(x);
    x = nullptr;
    r.k("after_destroy", cuGraphInstantiate(&x, gr, 0));
    if (x) cuGraphExecDestroy(x);
  });
  add("gmem.child_move", [](Rec& r) {
    Graph gr, parent;
    CUdeviceptr p = 0;
    CUgraphNode a = add_alloc(gr, {}, 4096, &p);
    add_free(gr, {a}, p);
    CUgraphNodeParams q;
    memset(&q, 0, sizeof q);
    q.type = CU_GRAPH_NODE_TYPE_GRAPH;
    q.graph.graph = gr;
    q.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
    CUgraphNode n = nullptr;
    CUresult e = r.k("move", cuGraphAddNode(&n, parent, nullptr, nullptr, 0, &q));
    if (e == CUDA_SUCCESS) {
      CUgraph moved = gr.h;
      gr.h = nullptr;
      CUdeviceptr z = 0;
      auto ap = alloc_params(64);
      CUgraphNode m = nullptr;
      r.k("add_alloc_to_moved", cuGraphAddMemAllocNode(&m, moved, nullptr, 0, &ap));
      (void)z;
      CUgraphExec x = nullptr;
      r.k("instantiate_parent", cuGraphInstantiate(&x, parent, 0));
      Stream s(NB);
      if (x) {
        r.k("launch", cuGraphLaunch(x, s));
        OK(cuStreamSynchronize(s));
        cuGraphExecDestroy(x);
      }
    }
  });
  add("gmem.free_in_other_graph", [](Rec& r) {
    Stream s(NB);
    Graph gr, fr;
    CUdeviceptr p = 0;
    CUgraphNode a = add_alloc(gr, {}, 4096, &p);
    CUgraphNode n = nullptr;
    r.k("free_node_elsewhere", cuGraphAddMemFreeNode(&n, fr, nullptr, 0, p));
    r.k("free_node_at_home_now", cuGraphAddMemFreeNode(&n, gr, &a, 1, p));
    Exec x(gr), y(fr);
    r.k("launch_alloc", cuGraphLaunch(x, s));
    r.k("launch_free", cuGraphLaunch(y, s));
    r.k("launch_alloc2", cuGraphLaunch(x, s));
    r.k("launch_free2", cuGraphLaunch(y, s));
    OK(cuStreamSynchronize(s));
    r.k("launch_free_without_alloc", cuGraphLaunch(y, s));
    r.k("sync", cuStreamSynchronize(s));
  });
  add("gmem.attributes", ISO, [](Rec& r) {
    Stream s(NB);
    cuuint64_t v = 0;
    OK(cuDeviceGraphMemTrim(g.dev));
    auto get = [&](CUgraphMem_attribute a) {
      v = 0;
      OK(cuDeviceGetGraphMemAttribute(g.dev, a, &v));
      return v;
    };
    r.k("used0", get(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT));
    r.k("reserved0", get(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT));
    Graph gr;
    CUdeviceptr p = 0;
    add_alloc(gr, {}, 1 << 20, &p);
    r.k("used_after_node", get(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT));
    Exec x(gr);
    r.k("used_after_instantiate", get(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT));
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("used_live_at_least", get(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) >= (1u << 20));
    r.k("reserved_live_at_least", get(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) >= (1u << 20));
    OK(cuMemFreeAsync(p, s));
    OK(cuStreamSynchronize(s));
    r.k("~used_after_free", get(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT));
    r.k("~reserved_after_free_zero", get(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == 0);
    r.k("used_high_at_least", get(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) >= (1u << 20));
    r.k("trim", cuDeviceGraphMemTrim(g.dev));
    r.k("reserved_after_trim_zero", get(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == 0);
    cuuint64_t z = 0, one = 1;
    r.k("reset_high", cuDeviceSetGraphMemAttribute(g.dev, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &z));
    r.k("used_high_after", get(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH));
    r.k("set_high_one", cuDeviceSetGraphMemAttribute(g.dev, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &one));
    r.k("set_current", cuDeviceSetGraphMemAttribute(g.dev, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &z));
    r.k("bad_attr", cuDeviceGetGraphMemAttribute(g.dev, static_cast<CUgraphMem_attribute>(77), &v));
    r.k("bad_device", cuDeviceGetGraphMemAttribute(99, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &v));
    r.k("trim_bad_device", cuDeviceGraphMemTrim(99));
  });
  add("gmem.set_params", [](Rec& r) {
    Graph gr;
    CUdeviceptr p = 0;
    CUgraphNode a = add_alloc(gr, {}, 4096, &p);
    CUgraphNode f = add_free(gr, {a}, p);
    CUgraphNodeParams q;
    memset(&q, 0, sizeof q);
    q.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    auto ap = alloc_params(64);
    memcpy(&q.alloc, &ap, sizeof ap);
    r.k("alloc", cuGraphNodeSetParams(a, &q));
    memset(&q, 0, sizeof q);
    q.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
    q.free.dptr = p;
    r.k("free", cuGraphNodeSetParams(f, &q));
    Exec x(gr);
    r.k("exec_free", cuGraphExecNodeSetParams(x, f, &q));
    unsigned en = 0;
    r.k("get_enabled", cuGraphNodeGetEnabled(x, a, &en));
    r.k("disable", cuGraphNodeSetEnabled(x, a, 0));
    rec_update(r, "update_same", x, gr);
  });
  add("gmem.update", [](Rec& r) {
    Graph a, b;
    CUdeviceptr p = 0, q = 0;
    CUgraphNode n = add_alloc(a, {}, 4096, &p);
    add_free(a, {n}, p);
    CUgraphNode m = add_alloc(b, {}, 4096, &q);
    add_free(b, {m}, q);
    Exec x(a);
    rec_update(r, "other_graph", x, b);
  });
  add("gmem.captured", [](Rec& r) {
    Stream s(NB);
    auto* h = reinterpret_cast<uint32_t*>(g.pin);
    h[0] = 0;
    CUdeviceptr p = 0;
    begin(s);
    OK(cuMemAllocAsync(&p, 4096, s));
    OK(cuMemsetD32Async(p, 31, 4, s));
    OK(cuMemcpyDtoHAsync(h, p, 4, s));
    OK(cuMemFreeAsync(p, s));
    Graph gr(end_ok(s));
    r.k("graph", describe(gr));
    Exec x(gr);
    r.k("launch", cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("value", h[0]);
    r.k("mem_free_outside", cuMemFree(p));
    r.k("free_async_outside", cuMemFreeAsync(p, s));
    OK(cuStreamSynchronize(s));
  });
  add("gmem.captured_unfreed", [](Rec& r) {
    Stream s(NB);
    CUdeviceptr p = 0;
    begin(s);
    OK(cuMemAllocAsync(&p, 4096, s));
    OK(cuMemsetD32Async(p, 32, 4, s));
    Graph gr(end_ok(s));
    Exec x(gr);
    OK(cuGraphLaunch(x, s));
    uint32_t v = 0;
    OK(cuMemcpyDtoHAsync(g.pin, p, 4, s));
    r.k("free_async", cuMemFreeAsync(p, s));
    OK(cuStreamSynchronize(s));
    memcpy(&v, g.pin, 4);
    r.k("value", v);
  });
  add("gmem.exec_destroyed_alloc_lives", [](Rec& r) {
    Stream s(NB);
    CUdeviceptr p = 0;
    {
      Graph gr;
      CUgraphNode a = add_alloc(gr, {}, 4096, &p);
      add_memset(gr, {a}, p, 33, 4);
      Exec x(gr);
      OK(cuGraphLaunch(x, s));
      OK(cuStreamSynchronize(s));
    }
    uint32_t v = 0;
    r.k("read", cuMemcpyDtoH(&v, p, 4));
    r.k("value", v);
    r.k("free", cuMemFree(p));
  });
  add("gmem.address_before_launch", [](Rec& r) {
    Graph gr;
    CUdeviceptr p = 0;
    add_alloc(gr, {}, 4096, &p);
    unsigned ty = 0;
    r.k("attr_before_launch", cuPointerGetAttribute(&ty, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
    r.k("mem_free_before_launch", cuMemFree(p));
  });
}

}  // namespace weir::conformance
