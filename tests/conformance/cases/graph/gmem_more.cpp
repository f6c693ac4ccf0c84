// SPDX-License-Identifier: Apache-2.0
// cases/graph/gmem_more.cpp - memory nodes: immediate use, several graphs, addresses, launches
// behind frees, unusual parameters.
#include "cases/graph/graph_update.hpp"
#include "probe/probe.hpp"

#include <cstring>

namespace weir::conformance {

void gmem_more_cases() {
  add("gmem.used_at_once", [](Rec& r) {
    Stream s(NB);
    Graph gr;
    CUdeviceptr p = 0;
    add_alloc(gr, {}, 4096, &p);
    r.k("set_before", cuMemsetD32Async(p, 1, 1, s));
    r.k("copy_before", cuMemcpyDtoHAsync(g.pin, p, 4, s));
    Exec x(gr);
    OK(cuGraphLaunch(x, s));
    OK(cuMemFreeAsync(p, s));
    r.k("set_after", cuMemsetD32Async(p, 1, 1, s));
    r.k("sync", cuStreamSynchronize(s));
  });
  add("gmem.nodes_of_other_graphs", [](Rec& r) {
    Graph gr, other;
    CUdeviceptr p = 0;
    add_alloc(gr, {}, 4096, &p);
    CUDA_MEMSET_NODE_PARAMS q = memset_params(p, 1);
    CUgraphNode n = nullptr;
    r.k("set", cuGraphAddMemsetNode(&n, other, nullptr, 0, &q, g.ctx));
    r.k("set_without_context", cuGraphAddMemsetNode(&n, other, nullptr, 0, &q, nullptr));
    q.width = 4097;
    q.elementSize = 1;
    r.k("set_beyond", cuGraphAddMemsetNode(&n, other, nullptr, 0, &q, g.ctx));
  });
  add("gmem.free_in_several_graphs", [](Rec& r) {
    Graph gr, one, two, home;
    CUdeviceptr p = 0, q = 0;
    add_alloc(gr, {}, 4096, &p);
    CUgraphNode a = add_alloc(home, {}, 4096, &q), n = nullptr;
    r.k("one", cuGraphAddMemFreeNode(&n, one, nullptr, 0, p));
    r.k("one_again", cuGraphAddMemFreeNode(&n, one, nullptr, 0, p));
    r.k("two", cuGraphAddMemFreeNode(&n, two, nullptr, 0, p));
    add_free(home, {a}, q);
    r.k("elsewhere_after_home", cuGraphAddMemFreeNode(&n, two, nullptr, 0, q));
  });
  add("gmem.addresses_again", [](Rec& r) {
    Graph gr;
    CUdeviceptr p = 0, q = 0, beside = 0, larger = 0;
    CUgraphNode a = add_alloc(gr, {}, 4096, &p), f = add_free(gr, {a}, p);
    add_alloc(gr, {a}, 4096, &beside);
    add_alloc(gr, {f}, 1 << 26, &larger);
    add_alloc(gr, {f}, 4096, &q);
    r.k("~behind", p == q);
    r.k("beside", p == beside);
    r.k("~larger", p == larger);
  });
  add("gmem.launch_behind_free_elsewhere", [](Rec& r) {
    Stream s(NB), t(NB);
    Graph gr;
    CUdeviceptr p = 0;
    add_alloc(gr, {}, 4096, &p);
    Exec x(gr);
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    ValueGate v;
    v.arm(t);
    OK(cuMemFreeAsync(p, t));
    r.k("launch", cuGraphLaunch(x, s));
    r.k("~query", cuStreamQuery(s));
    v.open();
    OK(cuStreamSynchronize(t));
    OK(cuStreamSynchronize(s));
    r.k("free", cuMemFree(p));
  });
  add("gmem.mem_free_of_busy", [](Rec& r) {
    Stream s(NB);
    Graph gr;
    CUdeviceptr p = 0;
    add_alloc(gr, {}, 4096, &p);
    Exec x(gr);
    ValueGate v;
    v.arm(s);
    OK(cuGraphLaunch(x, s));
    record_blocking(r, "free", blocking([&] { v.open(); }, [&] { return cuMemFree(p); }));
    v.open();
    OK(cuStreamSynchronize(s));
  });
  add("gmem.update_to_instantiated", [](Rec& r) {
    Graph a, b;
    CUdeviceptr p = 0, q = 0;
    const CUgraphNode in_a = add_alloc(a, {}, 4096, &p), in_b = add_alloc(b, {}, 4096, &q);
    add_free(a, {in_a}, p);
    add_free(b, {in_b}, q);
    Exec x(a);
    {
      Exec y(b);
      rec_update(r, "while_b_has_one", x, b);
    }
    rec_update(r, "afterwards", x, b);
    CUgraphExec z = nullptr;
    r.k("b_again", cuGraphInstantiate(&z, b, 0));
    if (z) cuGraphExecDestroy(z);
    z = nullptr;
    r.k("a_again", cuGraphInstantiate(&z, a, 0));
    if (z) cuGraphExecDestroy(z);
  });
  add("gmem.odd_params", [](Rec& r) {
    Graph gr;
    CUgraphNode n = nullptr;
    size_t total = 0;
    OK(cuDeviceTotalMem(&total, g.dev));
    auto p = alloc_params(total + (size_t{1} << 30));
    r.k("larger_than_device", cuGraphAddMemAllocNode(&n, gr, nullptr, 0, &p));
    CUmemAccessDesc d[2] = {
        {{CU_MEM_LOCATION_TYPE_DEVICE, g.dev}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
        {{CU_MEM_LOCATION_TYPE_DEVICE, g.dev}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
    auto with = [&](const char* k, const CUmemAccessDesc* list, size_t count) {
      auto q = alloc_params(64);
      q.accessDescs = list;
      q.accessDescCount = count;
      r.k(k, cuGraphAddMemAllocNode(&n, gr, nullptr, 0, &q));
    };
    with("own_device", d, 1);
    with("too_many", d, 99);
    d[0].flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    with("read_only", d, 1);
    d[0].flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    with("none", d, 1);
    d[0].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    d[0].location.id = 99;
    with("bad_device", d, 1);
    d[0].location = {CU_MEM_LOCATION_TYPE_HOST, 0};
    with("host", d, 1);
    p = alloc_params(64);
    p.poolProps.location = {CU_MEM_LOCATION_TYPE_HOST, 0};
    r.k("host_memory", cuGraphAddMemAllocNode(&n, gr, nullptr, 0, &p));
  });
  add("gmem.pointer_attributes", [](Rec& r) {
    Stream s(NB);
    Graph gr;
    CUdeviceptr p = 0;
    add_alloc(gr, {}, 4096, &p);
    Exec x(gr);
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    CUcontext c = nullptr;
    CUmemoryPool pool = nullptr;
    size_t size = 0;
    r.k("context", cuPointerGetAttribute(&c, CU_POINTER_ATTRIBUTE_CONTEXT, p));
    r.k("context_null", c == nullptr);
    r.k("pool", cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p));
    r.k("pool_null", pool == nullptr);
    r.k("mapping", cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, p));
    r.k("~mapping_size", size);
    r.k("range", cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, p));
    r.k("range_size", size);
    r.k("write_value", cuStreamWriteValue32(s, p, 1, 0));
    OK(cuMemFreeAsync(p, s));
    OK(cuStreamSynchronize(s));
  });
  add("gmem.used_when_gone", ISO, [](Rec& r) {
    Stream s(NB);
    OK(cuDeviceGraphMemTrim(g.dev));
    {
      Graph gr;
      CUdeviceptr p = 0;
      const CUgraphNode made = add_alloc(gr, {}, 4096, &p);
      add_free(gr, {made}, p);
      Exec x(gr);
      OK(cuGraphLaunch(x, s));
      OK(cuStreamSynchronize(s));
    }
    cuuint64_t v = 0;
    OK(cuDeviceGetGraphMemAttribute(g.dev, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &v));
    r.k("~used", v);
    OK(cuDeviceGetGraphMemAttribute(g.dev, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &v));
    r.k("~reserved", v);
  });
  // Other block sizes, and nodes that use the blocks.
  add("gmem.update_users", [](Rec& r) {
    Stream s(NB);
    const auto captured = [&](auto use) {
      CUdeviceptr p = 0;
      begin(s);
      OK(cuMemAllocAsync(&p, 4096, s));
      use(p);
      OK(cuMemFreeAsync(p, s));
      return end_ok(s);
    };
    const auto update = [&](const char* name, auto use) {
      Graph a(captured(use)), b(captured(use));
      Exec x(a);
      rec_update(r, name, x, b);
    };
    update("none", [](CUdeviceptr) {});
    update("set", [&](CUdeviceptr p) { OK(cuMemsetD32Async(p, 31, 4, s)); });
    update("out", [&](CUdeviceptr p) { OK(cuMemcpyDtoHAsync(g.pin, p, 4, s)); });
    update("in", [&](CUdeviceptr p) { OK(cuMemcpyHtoDAsync(p, g.pin, 4, s)); });
    update("out_by_address", [&](CUdeviceptr p) { OK(cuMemcpyAsync(as_address(g.pin), p, 4, s)); });
    update("in_by_address", [&](CUdeviceptr p) { OK(cuMemcpyAsync(p, as_address(g.pin), 4, s)); });
    update("across", [&](CUdeviceptr p) { OK(cuMemcpyDtoDAsync(g.dbuf, p, 4, s)); });
    update("within", [&](CUdeviceptr p) { OK(cuMemcpyDtoDAsync(p + 1024, p, 4, s)); });
  });
  // Memsets that an update moves between a graph's memory and other memory.
  add("gmem.update_moved_sets", [](Rec& r) {
    struct With {
      Graph gr;
      CUdeviceptr p = 0, q = 0;
      CUgraphNode set = nullptr;
      explicit With(int of) {
        const CUgraphNode a = add_alloc(gr, {}, 4096, &p), b = add_alloc(gr, {a}, 4096, &q);
        const CUdeviceptr to[] = {g.dbuf, p, p + 64, q};
        set = add_memset(gr, {b}, to[of], 1, 4);
      }
    };
    const char* const names[] = {"device", "first", "first_further", "second"};
    for (int from = 0; from < 4; ++from) {
      for (int to = 0; to < 4; ++to) {
        With a(from), b(to);
        Exec x(a.gr);
        CUgraphExecUpdateResultInfo info{};
        r.k(std::string(names[from]) + "_to_" + names[to], cuGraphExecUpdate(x, b.gr, &info));
        r.k(std::string(names[from]) + "_to_" + names[to] + ".result",
            static_cast<int>(info.result));
      }
    }
    // The graph itself, after its node was set.
    With own(1);
    Exec x(own.gr);
    CUgraphExecUpdateResultInfo info{};
    for (const CUdeviceptr to : {own.p + 64, own.q, g.dbuf, own.p}) {
      const CUDA_MEMSET_NODE_PARAMS now = memset_params(to, 2, 4);
      OK(cuGraphMemsetNodeSetParams(own.set, &now));
      r.k(to == own.p + 64 ? "own_further"
          : to == own.q    ? "own_second"
          : to == own.p    ? "own_back"
                           : "own_device",
          cuGraphExecUpdate(x, own.gr, &info));
    }
  });
}

}  // namespace weir::conformance
