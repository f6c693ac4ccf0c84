// SPDX-License-Identifier: Apache-2.0
// cases/graph/graph_read.cpp - reading nodes and edges; host and memset nodes.
#include "probe/probe.hpp"

#include <cstring>

namespace weir::conformance {

void graph_read_cases() {
  add("graph.get_nodes_sizes", [](Rec& r) {
    Graph gr;
    CUgraphNode a = add_empty(gr);
    add_empty(gr, {a});
    add_empty(gr);
    Nodes v(8, a);
    size_t n = 2;
    r.k("short", cuGraphGetNodes(gr, v.data(), &n));
    r.k("short_n", n);
    n = 8;
    for (auto& x : v) x = a;
    r.k("long", cuGraphGetNodes(gr, v.data(), &n));
    r.k("long_n", n);
    r.k("rest_null", v[3] == nullptr && v[7] == nullptr);
    n = 99;
    r.k("count_only", cuGraphGetNodes(gr, nullptr, &n));
    r.k("count_n", n);
    n = 0;
    r.k("zero", cuGraphGetNodes(gr, v.data(), &n));
    r.k("zero_n", n);
    n = 8;
    for (auto& x : v) x = a;
    r.k("roots_long", cuGraphGetRootNodes(gr, v.data(), &n));
    r.k("roots_n", n);
    r.k("roots_rest_null", v[2] == nullptr && v[7] == nullptr);
    n = 1;
    r.k("roots_short", cuGraphGetRootNodes(gr, v.data(), &n));
    r.k("roots_short_n", n);
  });
  add("graph.get_edges_sizes", [](Rec& r) {
    Graph gr;
    CUgraphNode a = add_empty(gr), b = add_empty(gr, {a}), c = add_empty(gr, {a, b});
    Nodes f(6, c), t(6, c);
    std::vector<CUgraphEdgeData> d(6);
    size_t n = 6;
    r.k("long", cuGraphGetEdges(gr, f.data(), t.data(), d.data(), &n));
    r.k("long_n", n);
    r.k("rest_null", f[3] == nullptr && t[5] == nullptr);
    n = 2;
    r.k("short", cuGraphGetEdges(gr, f.data(), t.data(), nullptr, &n));
    r.k("short_n", n);
    n = 6;
    r.k("from_only", cuGraphGetEdges(gr, f.data(), nullptr, nullptr, &n));
    n = 6;
    r.k("to_only", cuGraphGetEdges(gr, nullptr, t.data(), nullptr, &n));
    n = 6;
    r.k("data_only", cuGraphGetEdges(gr, nullptr, nullptr, d.data(), &n));
    n = 6;
    for (auto& x : f) x = c;
    r.k("deps_long", cuGraphNodeGetDependencies(c, f.data(), nullptr, &n));
    r.k("deps_n", n);
    r.k("deps_rest_null", f[2] == nullptr);
    n = 1;
    r.k("deps_short", cuGraphNodeGetDependencies(c, f.data(), nullptr, &n));
    r.k("deps_short_n", n);
    n = 6;
    r.k("dependents", cuGraphNodeGetDependentNodes(a, f.data(), nullptr, &n));
    r.k("dependents_n", n);
    n = 6;
    r.k("deps_data_only", cuGraphNodeGetDependencies(c, nullptr, d.data(), &n));
  });
  add("graph.destroy_node", [](Rec& r) {
    Graph gr;
    CUgraphNode a = add_label(gr, {}, "a"), b = add_label(gr, {a}, "b");
    add_label(gr, {b}, "c");
    r.k("destroy_b", cuGraphDestroyNode(b));
    r.k("graph", describe(gr));
    r.k("roots", count_roots(gr));
    r.k("a_dependents", count_dependents(a));
  });
  add("graph.host_node_params", [](Rec& r) {
    Graph gr;
    CUgraphNode n = add_label(gr, {}, "a"), e = add_empty(gr), m = nullptr;
    CUDA_HOST_NODE_PARAMS p{};
    r.k("get", cuGraphHostNodeGetParams(n, &p));
    r.k("fn_same", p.fn == label_fn);
    p.userData = new_label("b");
    r.k("set", cuGraphHostNodeSetParams(n, &p));
    r.k("after", node_label(n));
    CUDA_HOST_NODE_PARAMS z{};
    r.k("set_null_fn", cuGraphHostNodeSetParams(n, &z));
    r.k("add_null_fn", cuGraphAddHostNode(&m, gr, nullptr, 0, &z));
    r.k("get_of_empty", cuGraphHostNodeGetParams(e, &p));
    r.k("set_of_empty", cuGraphHostNodeSetParams(e, &p));
    r.k("get_null", cuGraphHostNodeGetParams(n, nullptr));
    r.k("set_null", cuGraphHostNodeSetParams(n, nullptr));
    r.k("nodes", count_nodes(gr));
  });
  add("graph.memset_node_params", [](Rec& r) {
    struct {
      const char* n;
      CUDA_MEMSET_NODE_PARAMS p;
    } list[] = {
        {"ok1", memset_params(g.dbuf, 1, 16, 1)},
        {"ok2", memset_params(g.dbuf, 1, 16, 2)},
        {"ok4", memset_params(g.dbuf, 1, 16, 4)},
        {"elem3", memset_params(g.dbuf, 1, 16, 3)},
        {"elem8", memset_params(g.dbuf, 1, 16, 8)},
        {"elem0", memset_params(g.dbuf, 1, 16, 0)},
        {"misaligned2", memset_params(g.dbuf + 1, 1, 16, 2)},
        {"misaligned4", memset_params(g.dbuf + 2, 1, 16, 4)},
        {"width0", memset_params(g.dbuf, 1, 0, 4)},
        {"height0", memset_params(g.dbuf, 1, 16, 4, 0)},
        {"null_dst", memset_params(0, 1, 16, 4)},
        {"null_dst_width0", memset_params(0, 1, 0, 4)},
        {"pageable_dst", memset_params(reinterpret_cast<CUdeviceptr>(g.page), 1, 16, 4)},
        {"pinned_dst", memset_params(reinterpret_cast<CUdeviceptr>(g.pin), 1, 16, 4)},
        {"2d", memset_params(g.dbuf, 1, 16, 4, 4, 256)},
        {"2d_small_pitch", memset_params(g.dbuf, 1, 16, 4, 4, 32)},
        {"2d_odd_pitch", memset_params(g.dbuf, 1, 16, 4, 4, 257)},
        {"out_of_bounds", memset_params(g.dbuf, 1, kScratch, 4)},
        {"value_wide", memset_params(g.dbuf, 0x12345678, 16, 1)},
    };
    for (auto& x : list) {
      Graph gr;
      CUgraphNode n = nullptr;
      CUresult e = r.k(x.n, cuGraphAddMemsetNode(&n, gr, nullptr, 0, &x.p, g.ctx));
      if (e == CUDA_SUCCESS) {
        CUDA_MEMSET_NODE_PARAMS q{};
        if (cuGraphMemsetNodeGetParams(n, &q) == CUDA_SUCCESS && q.value != x.p.value)
          r.k(std::string(x.n) + ".value", static_cast<unsigned long long>(q.value));
      }
    }
    Graph gr;
    CUgraphNode n = nullptr;
    CUDA_MEMSET_NODE_PARAMS p = memset_params(g.dbuf, 1, 16, 4);
    r.k("null_ctx", cuGraphAddMemsetNode(&n, gr, nullptr, 0, &p, nullptr));
  });
  // The call that sets a memset node names no context: which one it uses.
  add("graph.memset_node_set_context", ISO, [](Rec& r) {
    Graph gr;
    CUgraphNode n = add_memset(gr, {}, g.dbuf, 5, 8);
    CUDA_MEMSET_NODE_PARAMS p = memset_params(g.dbuf + 64, 6, 4, 4);
    r.k("current", cuGraphMemsetNodeSetParams(n, &p));
    p.pitch = 16;
    r.k("with_pitch", cuGraphMemsetNodeSetParams(n, &p));
    void* host = nullptr;
    OK(cuMemHostAlloc(&host, 4096, 0));
    p = memset_params(reinterpret_cast<CUdeviceptr>(host), 6, 4, 4);
    r.k("host", cuGraphMemsetNodeSetParams(n, &p));
    CUgraphNodeParams q;
    memset(&q, 0, sizeof q);
    q.type = CU_GRAPH_NODE_TYPE_MEMSET;
    q.memset = {g.dbuf + 64, 0, 7, 4, 2, 1, g.ctx};
    r.k("generic", cuGraphNodeSetParams(n, &q));
    q.memset.ctx = nullptr;
    r.k("generic_no_context", cuGraphNodeSetParams(n, &q));
    CUcontext mine = nullptr;
    CUdeviceptr pooled = 0;
    OK(cuMemAllocAsync(&pooled, 4096, nullptr));
    OK(cuStreamSynchronize(nullptr));
    p = memset_params(pooled, 6, 4, 4);
    r.k("pool", cuGraphMemsetNodeSetParams(n, &p));
    q.memset = {pooled, 0, 7, 4, 2, 1, g.ctx};
    r.k("generic_pool", cuGraphNodeSetParams(n, &q));
    CUgraphNode first_of_pool = nullptr;
    r.k("add_pool", cuGraphAddNode(&first_of_pool, gr, nullptr, nullptr, 0, &q));
    if (first_of_pool != nullptr) r.k("pool_again", cuGraphMemsetNodeSetParams(first_of_pool, &p));
    OK(cuCtxPopCurrent(&mine));
    r.k("pool_none_current", cuGraphMemsetNodeSetParams(n, &p));
    r.k("generic_pool_none_current", cuGraphNodeSetParams(n, &q));
    q.memset = {g.dbuf + 64, 0, 7, 4, 2, 1, nullptr};
    p = memset_params(g.dbuf + 128, 8, 4, 4);
    r.k("none_current", cuGraphMemsetNodeSetParams(n, &p));
    q.memset.ctx = mine;
    r.k("generic_none_current", cuGraphNodeSetParams(n, &q));
    q.memset.ctx = nullptr;
    r.k("generic_none_at_all", cuGraphNodeSetParams(n, &q));
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = g.dbuf;
    copy.dstDevice = g.dbuf + 128;
    copy.WidthInBytes = copy.srcPitch = copy.dstPitch = 4;
    copy.Height = copy.Depth = copy.srcHeight = copy.dstHeight = 1;
    CUgraphNode c = nullptr;
    r.k("add_copy_none_current", cuGraphAddMemcpyNode(&c, gr, nullptr, 0, &copy, mine));
    if (c != nullptr) r.k("set_copy_none_current", cuGraphMemcpyNodeSetParams(c, &copy));
    OK(cuCtxPushCurrent(mine));
  });
  add("graph.memset_node_get_set", [](Rec& r) {
    Graph gr;
    CUgraphNode n = add_memset(gr, {}, g.dbuf, 5, 8), h = add_label(gr, {}, "h");
    CUDA_MEMSET_NODE_PARAMS p{};
    r.k("get", cuGraphMemsetNodeGetParams(n, &p));
    r.k("value", p.value);
    r.k("elem", p.elementSize);
    r.k("width", p.width);
    r.k("height", p.height);
    r.k("dst_same", p.dst == g.dbuf);
    p = memset_params(g.dbuf + 64, 6, 4, 2);
    r.k("set", cuGraphMemsetNodeSetParams(n, &p));
    CUDA_MEMSET_NODE_PARAMS q{};
    OK(cuGraphMemsetNodeGetParams(n, &q));
    r.k("value2", q.value);
    r.k("elem2", q.elementSize);
    p.elementSize = 3;
    r.k("set_bad", cuGraphMemsetNodeSetParams(n, &p));
    OK(cuGraphMemsetNodeGetParams(n, &q));
    r.k("kept", q.elementSize);
    r.k("get_of_host", cuGraphMemsetNodeGetParams(h, &q));
    r.k("set_of_host", cuGraphMemsetNodeSetParams(h, &p));
  });
}

}  // namespace weir::conformance
