// SPDX-License-Identifier: Apache-2.0
// cases/memory/pool/pool_place_values.cpp - unusual locations in calls: current pools, and access.
#include "cases/memory/pool/pools.hpp"
#include "probe/probe.hpp"

namespace weir::conformance {

void pool_place_values_cases() {
  add("pool.current_refusals", ISO, [](Rec& r) {
    CUmemPoolProps p = pool_props();
    p.location.type = CU_MEM_LOCATION_TYPE_HOST;
    CUmemoryPool host = nullptr, d = nullptr, c = nullptr;
    OK(cuMemPoolCreate(&host, &p));
    OK(cuDeviceGetDefaultMemPool(&d, g.dev));
    r.k("set_host_pool", cuDeviceSetMemPool(g.dev, host));
    OK(cuDeviceGetMemPool(&c, g.dev));
    r.k("still_default", c == d);
    r.k("set_default", cuDeviceSetMemPool(g.dev, d));
    r.k("bad_device_and_null", cuDeviceSetMemPool(99, nullptr));
    r.k("get_bad_device", cuDeviceGetMemPool(&c, 99));
    r.k("get_null", cuDeviceGetMemPool(nullptr, g.dev));
    r.k("get_null_bad_device", cuDeviceGetMemPool(nullptr, 99));
    CUmemLocation here{};
    here.type = CU_MEM_LOCATION_TYPE_DEVICE;
    here.id = g.dev;
    r.k("set_by_location_host_pool", cuMemSetMemPool(&here, CU_MEM_ALLOCATION_TYPE_PINNED, host));
    r.k("set_by_location_null", cuMemSetMemPool(&here, CU_MEM_ALLOCATION_TYPE_PINNED, nullptr));
    r.k("set_by_location_no_type", cuMemSetMemPool(&here, CU_MEM_ALLOCATION_TYPE_INVALID, d));
    r.k("set_by_location_default", cuMemSetMemPool(&here, CU_MEM_ALLOCATION_TYPE_PINNED, d));
    r.k("set_by_no_location", cuMemSetMemPool(nullptr, CU_MEM_ALLOCATION_TYPE_PINNED, d));
    here.type = CU_MEM_LOCATION_TYPE_HOST;
    r.k("get_by_host", cuMemGetMemPool(&c, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
    r.k("default_by_host", cuMemGetDefaultMemPool(&c, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
    r.k("set_by_host", cuMemSetMemPool(&here, CU_MEM_ALLOCATION_TYPE_PINNED, host));
    here.type = CU_MEM_LOCATION_TYPE_DEVICE;
    here.id = 99;
    r.k("get_by_bad_device", cuMemGetMemPool(&c, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
    cuMemPoolDestroy(host);
  });
  add("pool.access_places", [](Rec& r) {
    Pool q;
    CUmemAccess_flags f = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    CUmemLocation at{};
    at.type = CU_MEM_LOCATION_TYPE_DEVICE;
    at.id = g.dev;
    r.k("no_flags", cuMemPoolGetAccess(nullptr, q, &at));
    r.k("no_place", cuMemPoolGetAccess(&f, q, nullptr));
    for (int type : {0, 2, 3, 4, 77}) {
      CUmemLocation elsewhere{};
      elsewhere.type = static_cast<CUmemLocationType>(type);
      r.k("get_type" + std::to_string(type), cuMemPoolGetAccess(&f, q, &elsewhere));
      CUmemAccessDesc d{};
      d.location = elsewhere;
      d.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      r.k("set_type" + std::to_string(type), cuMemPoolSetAccess(q, &d, 1));
    }
    CUmemAccessDesc d[2] = {};
    for (CUmemAccessDesc& one : d) {
      one.location = at;
      one.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    }
    r.k("same_device_twice", cuMemPoolSetAccess(q, d, 2));
    d[0].flags = static_cast<CUmemAccess_flags>(2);
    r.k("flags2", cuMemPoolSetAccess(q, d, 1));
    d[0].flags = static_cast<CUmemAccess_flags>(77);
    r.k("flags77", cuMemPoolSetAccess(q, d, 1));
    d[0].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    d[1].location.id = -1;
    r.k("second_bad", cuMemPoolSetAccess(q, d, 2));
    CUmemoryPool own = nullptr;
    OK(cuDeviceGetDefaultMemPool(&own, g.dev));
    d[0].location = at;
    r.k("default_pool_rw", cuMemPoolSetAccess(own, d, 1));
  });
  add("pool.host_pool", [](Rec& r) {
    CUmemPoolProps p = pool_props();
    p.location.type = CU_MEM_LOCATION_TYPE_HOST;
    CUmemoryPool q = nullptr;
    if (r.k("create", cuMemPoolCreate(&q, &p)) != CUDA_SUCCESS) return;
    Stream s(NB);
    CUmemAccess_flags f = CU_MEM_ACCESS_FLAGS_PROT_READ;
    CUmemLocation at{};
    at.type = CU_MEM_LOCATION_TYPE_DEVICE;
    at.id = g.dev;
    r.k("access", cuMemPoolGetAccess(&f, q, &at));
    r.k("access_flags", static_cast<int>(f));
    CUmemAccessDesc d{};
    d.location = at;
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    r.k("set_rw", cuMemPoolSetAccess(q, &d, 1));
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    r.k("set_none", cuMemPoolSetAccess(q, &d, 1));
    at.type = CU_MEM_LOCATION_TYPE_HOST;
    f = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    r.k("host_access", cuMemPoolGetAccess(&f, q, &at));
    r.k("host_access_flags", static_cast<int>(f));
    r.k("used", pool_u64(q, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
    r.k("threshold", pool_u64(q, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD));
    CUdeviceptr a = 0;
    if (r.k("alloc", cuMemAllocFromPoolAsync(&a, 4096, q, s)) == CUDA_SUCCESS) {
      unsigned type = 0;
      int ordinal = -9;
      OK(cuStreamSynchronize(s));
      r.k("type", cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a));
      r.k("type_value", type);
      r.k("ordinal", cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, a));
      r.k("ordinal_value", ordinal);
      r.k("free", cuMemFreeAsync(a, s));
      OK(cuStreamSynchronize(s));
    }
    r.k("destroy", cuMemPoolDestroy(q));
  });
}

}  // namespace weir::conformance
