// SPDX-License-Identifier: Apache-2.0
// cases/memory/vmm_access.cpp - which devices may access mapped memory.
#include "cases/memory/ranges.hpp"

#include <cstring>

namespace weir::conformance {
namespace {

void rec_access(Rec& r, const std::string& key, CUdeviceptr p, const CUmemLocation& where) {
  unsigned long long flags = 99;
  if (r.k(key, cuMemGetAccess(&flags, &where, p)) == CUDA_SUCCESS) r.k(key + ".flags", flags);
}

void rec_set_access(Rec& r, const std::string& key, CUdeviceptr p, size_t n, CUmemLocation where,
                    unsigned flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
  const CUmemAccessDesc desc = access_of(where, static_cast<CUmemAccess_flags>(flags));
  r.k(key, cuMemSetAccess(p, n, &desc, 1));
}

CUmemLocation here() { return place(CU_MEM_LOCATION_TYPE_DEVICE, g.dev); }

}  // namespace

void vmm_access_cases() {
  add("vmm.access_errors", [](Rec& r) {
    Range a(2 * kGrain);
    Piece m(2 * kGrain);
    const CUmemAccessDesc desc = access_of(here());
    r.k("unmapped", cuMemSetAccess(a, 2 * kGrain, &desc, 1));
    OK(cuMemMap(a, 2 * kGrain, 0, m, 0));
    r.k("null_desc", cuMemSetAccess(a, 2 * kGrain, nullptr, 1));
    r.k("count0", cuMemSetAccess(a, 2 * kGrain, &desc, 0));
    r.k("size0", cuMemSetAccess(a, 0, &desc, 1));
    r.k("half_a_grain", cuMemSetAccess(a, kGrain / 2, &desc, 1));
    r.k("longer", cuMemSetAccess(a, 3 * kGrain, &desc, 1));
    r.k("unaligned", cuMemSetAccess(a + 4096, kGrain, &desc, 1));
    r.k("null", cuMemSetAccess(0, kGrain, &desc, 1));
    r.k("device_memory", cuMemSetAccess(g.dbuf, kGrain, &desc, 1));
    rec_set_access(r, "flags2", a, 2 * kGrain, here(), 2);
    rec_set_access(r, "flags4", a, 2 * kGrain, here(), 4);
    const CUmemAccessDesc twice[2] = {desc, desc};
    r.k("same_device_twice", cuMemSetAccess(a, 2 * kGrain, twice, 2));
  });
  add("vmm.access_places", [](Rec& r) {
    Range a;
    Piece m;
    OK(cuMemMap(a, kGrain, 0, m, 0));
    rec_set_access(r, "nowhere", a, kGrain, place(CU_MEM_LOCATION_TYPE_INVALID));
    rec_set_access(r, "d99", a, kGrain, place(CU_MEM_LOCATION_TYPE_DEVICE, 99));
    rec_set_access(r, "negative", a, kGrain, place(CU_MEM_LOCATION_TYPE_DEVICE, -1));
    rec_set_access(r, "type9", a, kGrain, place(static_cast<CUmemLocationType>(9)));
    rec_set_access(r, "numa_current", a, kGrain, place(CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT));
    rec_set_access(r, "~numa0", a, kGrain, place(CU_MEM_LOCATION_TYPE_HOST_NUMA, 0));
    rec_set_access(r, "~host", a, kGrain, place(CU_MEM_LOCATION_TYPE_HOST));
  });
  add("vmm.access_part", [](Rec& r) {
    Range a(2 * kGrain);
    Piece m(2 * kGrain);
    OK(cuMemMap(a, 2 * kGrain, 0, m, 0));
    rec_set_access(r, "front", a, kGrain, here());
    rec_access(r, "front_has", a, here());
    rec_access(r, "back_has", a + kGrain, here());
    rec_set_access(r, "whole", a, 2 * kGrain, here());
    rec_set_access(r, "back_none", a + kGrain, kGrain, here(), 0);
    rec_access(r, "front_then", a, here());
    rec_access(r, "back_then", a + kGrain, here());
  });
  add("vmm.get_access", [](Rec& r) {
    Mapped a;
    Range b;
    const CUmemLocation where = here();
    unsigned long long flags = 0;
    rec_access(r, "mapped", a, where);
    rec_access(r, "inner", a + 100, where);
    rec_access(r, "last", a + kGrain - 1, where);
    rec_access(r, "reserved", b, where);
    rec_access(r, "device_memory", g.dbuf, where);
    rec_access(r, "pinned", reinterpret_cast<CUdeviceptr>(g.pin), where);
    rec_access(r, "pageable", reinterpret_cast<CUdeviceptr>(g.page), where);
    rec_access(r, "null", 0, where);
    rec_access(r, "d99", a, place(CU_MEM_LOCATION_TYPE_DEVICE, 99));
    rec_access(r, "nowhere", a, place(CU_MEM_LOCATION_TYPE_INVALID));
    rec_access(r, "host", a, place(CU_MEM_LOCATION_TYPE_HOST));
    rec_access(r, "numa0", a, place(CU_MEM_LOCATION_TYPE_HOST_NUMA, 0));
    r.k("null_out", cuMemGetAccess(nullptr, &where, a));
    r.k("null_location", cuMemGetAccess(&flags, nullptr, a));
  });
  add("vmm.access_levels", [](Rec& r) {
    Range a;
    Piece m;
    OK(cuMemMap(a, kGrain, 0, m, 0));
    rec_access(r, "at_first", a, here());
    for (unsigned flags : {1u, 3u, 0u, 3u}) {
      rec_set_access(r, "set" + std::to_string(flags), a, kGrain, here(), flags);
      rec_access(r, "get" + std::to_string(flags), a, here());
    }
  });
  add("vmm.get_access_host", [](Rec& r) {
    const CUmemLocation host = place(CU_MEM_LOCATION_TYPE_HOST),
                        other = place(CU_MEM_LOCATION_TYPE_HOST, 5);
    Range a, b;
    Piece m;
    rec_access(r, "reserved", b, host);
    OK(cuMemMap(a, kGrain, 0, m, 0));
    rec_access(r, "at_first", a, host);
    rec_set_access(r, "set1", a, kGrain, here(), 1);
    rec_access(r, "after1", a, host);
    rec_set_access(r, "set3", a, kGrain, here(), 3);
    rec_access(r, "after3", a, host);
    rec_access(r, "id5", a, other);
    rec_access(r, "numa99", a, place(CU_MEM_LOCATION_TYPE_HOST_NUMA, 99));
    rec_access(r, "numa_current", a, place(CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT));
    rec_access(r, "type9", a, place(static_cast<CUmemLocationType>(9)));
    rec_access(r, "device_memory", g.dbuf, host);
    rec_access(r, "pinned", reinterpret_cast<CUdeviceptr>(g.pin), host);
  });
  add("vmm.read_only_writes", ISO, [](Rec& r) {
    Mapped a;
    Stream s(NB);
    Graph graph;
    CUgraphNode node = nullptr;
    const CUDA_MEMSET_NODE_PARAMS set = memset_params(a, 1);
    const CUDA_MEMCPY3D copy = copy_h2d(a, g.pin, 16);
    put_byte(a, 51);
    OK(open_access(a, kGrain, CU_MEM_ACCESS_FLAGS_PROT_READ));
    r.k("memset", cuMemsetD8(a, 1, 16));
    r.k("memset_async", cuMemsetD8Async(a, 1, 16, s));
    r.k("htod_async", cuMemcpyHtoDAsync(a, g.pin, 16, s));
    r.k("dtod", cuMemcpyDtoD(a, g.dbuf, 16));
    r.k("dtod_from", cuMemcpyDtoD(g.dbuf, a, 16));
    r.k("unified", cuMemcpy(a, g.dbuf, 16));
    r.k("box", cuMemcpy3D(&copy));
    r.k("node_memset", cuGraphAddMemsetNode(&node, graph, nullptr, 0, &set, g.ctx));
    r.k("node_copy", cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, g.ctx));
    r.k("sync", cuCtxSynchronize());
    r.k("kept", get_byte(a));
  });
  add("vmm.use_without_access", ISO, [](Rec& r) {
    Range a;
    Piece m;
    OK(cuMemMap(a, kGrain, 0, m, 0));
    r.k("htod", cuMemcpyHtoD(a, g.pin, 16));
    r.k("dtoh", cuMemcpyDtoH(g.pin, a, 16));
    r.k("memset", cuMemsetD8(a, 1, 16));
    r.k("sync", cuCtxSynchronize());
  });
  add("vmm.use_after_none", ISO, [](Rec& r) {
    Mapped a;
    put_byte(a, 1);
    r.k("none", open_access(a, kGrain, CU_MEM_ACCESS_FLAGS_PROT_NONE));
    r.k("dtoh", cuMemcpyDtoH(g.pin, a, 16));
    r.k("sync", cuCtxSynchronize());
  });
  add("vmm.use_read_only", ISO, [](Rec& r) {
    Mapped a;
    put_byte(a, 51);
    if (r.k("set", open_access(a, kGrain, CU_MEM_ACCESS_FLAGS_PROT_READ)) != CUDA_SUCCESS) return;
    r.k("dtoh", cuMemcpyDtoH(g.pin, a, 1));
    r.k("value", static_cast<unsigned>(g.pin[0]));
    r.k("htod", cuMemcpyHtoD(a, g.pin, 16));
    r.k("sync", cuCtxSynchronize());
  });
  add("vmm.host_memory", ISO, [](Rec& r) {
    CUmemAllocationProp prop = on_device();
    prop.location = place(CU_MEM_LOCATION_TYPE_HOST_NUMA, 0);
    CUmemGenericAllocationHandle h = 0;
    Range a;
    if (r.k("create", cuMemCreate(&h, kGrain, &prop, 0)) != CUDA_SUCCESS) return;
    OK(cuMemMap(a, kGrain, 0, h, 0));
    rec_set_access(r, "device", a, kGrain, here());
    rec_set_access(r, "host", a, kGrain, place(CU_MEM_LOCATION_TYPE_HOST_NUMA, 0));
    rec_access(r, "device_has", a, here());
    rec_access(r, "host_has", a, place(CU_MEM_LOCATION_TYPE_HOST_NUMA, 0));
    auto* bytes = reinterpret_cast<volatile unsigned char*>(a.p);
    bytes[5] = 61;
    r.k("device_sees", get_byte(a + 5));
    put_byte(a + 6, 62);
    r.k("host_sees", static_cast<unsigned>(bytes[6]));
    unsigned type = 0;
    void* host = nullptr;
    r.k("type", cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a));
    r.k("type_value", type);
    r.k("host_pointer", cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, a));
    r.k("host_pointer_same", host == reinterpret_cast<void*>(a.p));
    OK(cuMemRelease(h));
  });
  add("vmm.other_context", SECOND_CONTEXT, [](Rec& r) {
    OtherCtx o;
    Mapped a;
    put_byte(a, 71);
    Current cur(o);
    unsigned char value = 0;
    r.k("dtoh", cuMemcpyDtoH(&value, a, 1));
    r.k("value", static_cast<unsigned>(value));
    r.k("memset", cuMemsetD8(a, 72, 1));
    r.k("sync", cuCtxSynchronize());
    r.k("access", open_access(a, kGrain));
  });
  add("vmm.access_of_host", [](Rec& r) {
    Mapped a;
    const CUmemLocation host = place(CU_MEM_LOCATION_TYPE_HOST);
    rec_set_access(r, "device_memory_none", a, kGrain, host, 0);
    rec_set_access(r, "device_memory_read", a, kGrain, host, 1);
    CUmemAllocationProp on_host = on_device();
    on_host.location = place(CU_MEM_LOCATION_TYPE_HOST, 99);
    CUmemGenericAllocationHandle h = 0;
    OK(cuMemCreate(&h, kGrain, &on_host, 0));
    CUmemAllocationProp told = on_device();
    OK(cuMemGetAllocationPropertiesFromHandle(&told, h));
    r.k("location", static_cast<int>(told.location.type));
    r.k("location.id", told.location.id);
    Range b;
    OK(cuMemMap(b, kGrain, 0, h, 0));
    rec_set_access(r, "host_memory_read", b, kGrain, host, 1);
    rec_access(r, "host_memory", b, host);
    OK(cuMemRelease(h));
    on_host.location = place(CU_MEM_LOCATION_TYPE_DEVICE, 99);
    on_host.type = static_cast<CUmemAllocationType>(0);
    r.k("unknown_device_and_type", cuMemCreate(&h, kGrain, &on_host, 0));
  });
}

}  // namespace weir::conformance
