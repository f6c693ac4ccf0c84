// SPDX-License-Identifier: Apache-2.0
// cases/memory/pool/pool_attributes.cpp - a pool's counters, its threshold, and its properties.
#include "cases/memory/pool/pools.hpp"
#include "probe/probe.hpp"

#include <utility>

namespace weir::conformance {

void pool_attributes_cases() {
  add("pool.used_current", [](Rec& r) {
    Pool q;
    Stream s(NB);
    CUdeviceptr a = 0, b = 0;
    r.k("used0", pool_u64(q, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
    r.k("reserved0", pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
    OK(cuMemAllocFromPoolAsync(&a, 1 << 20, q, s));
    r.k("used1", pool_u64(q, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
    r.k("reserved1_at_least", pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= (1u << 20));
    r.k("~reserved1", pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
    OK(cuMemAllocFromPoolAsync(&b, 100, q, s));
    r.k("~used2_extra", pool_u64(q, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) - (1u << 20));
    r.k("~used_high_at_free", pool_u64(q, CU_MEMPOOL_ATTR_USED_MEM_HIGH) - (1u << 20));
    OK(cuMemFreeAsync(a, s));
    OK(cuMemFreeAsync(b, s));
    OK(cuStreamSynchronize(s));
    r.k("used_after_sync", pool_u64(q, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
    r.k("reserved_after_sync", pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
    r.k("used_high_at_least", pool_u64(q, CU_MEMPOOL_ATTR_USED_MEM_HIGH) >= (1u << 20));
  });
  add("pool.used_while_free_pending", [](Rec& r) {
    Pool q;
    Stream s(NB);
    CUdeviceptr a = 0;
    OK(cuMemAllocFromPoolAsync(&a, 1 << 20, q, s));
    OK(cuStreamSynchronize(s));
    ValueGate v;
    v.arm(s);
    OK(cuMemFreeAsync(a, s));
    r.k("used_free_pending", pool_u64(q, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
    r.k("trim_pending", cuMemPoolTrimTo(q, 0));
    r.k("reserved_after_trim_zero", pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
    v.open();
    OK(cuStreamSynchronize(s));
    r.k("used_after", pool_u64(q, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
  });
  add("pool.threshold", [](Rec& r) {
    Pool q;
    Stream s(NB);
    cuuint64_t big = ~0ull;
    CUdeviceptr a = 0;
    r.k("set", cuMemPoolSetAttribute(q, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &big));
    r.k("get_same", pool_u64(q, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) == big);
    OK(cuMemAllocFromPoolAsync(&a, 1 << 20, q, s));
    OK(cuMemFreeAsync(a, s));
    OK(cuStreamSynchronize(s));
    r.k("kept_after_sync", pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= (1u << 20));
    r.k("trim_to_1", cuMemPoolTrimTo(q, 1));
    r.k("kept_after_trim_1", pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= 1);
    r.k("trim_to_0", cuMemPoolTrimTo(q, 0));
    r.k("reserved_after_trim_0", pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
    cuuint64_t zero = 0;
    OK(cuMemPoolSetAttribute(q, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &zero));
    OK(cuMemAllocFromPoolAsync(&a, 1 << 20, q, s));
    OK(cuMemFreeAsync(a, s));
    Event e;
    OK(cuEventRecord(e, s));
    OK(cuEventSynchronize(e));
    r.k("~released_by_event_sync", pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
    OK(cuCtxSynchronize());
    r.k("released_by_ctx_sync", pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
  });
  add("pool.trim_with_live", [](Rec& r) {
    Pool q;
    Stream s(NB);
    CUdeviceptr a = 0;
    OK(cuMemAllocFromPoolAsync(&a, 1 << 20, q, s));
    OK(cuStreamSynchronize(s));
    r.k("trim", cuMemPoolTrimTo(q, 0));
    r.k("still_backed", pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= (1u << 20));
    r.k("usable", cuMemsetD8(a, 1, 1 << 20));
    OK(cuStreamSynchronize(nullptr));  // the memset runs there, and the free would not wait for it
    OK(cuMemFreeAsync(a, s));
    OK(cuStreamSynchronize(s));
  });
  add("pool.attributes_set", [](Rec& r) {
    Pool q;
    for (auto& [n, a] : {std::pair<const char*, CUmemPool_attribute>{
                             "follow_event", CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES},
                         {"opportunistic", CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC},
                         {"internal", CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES}}) {
      for (int v : {0, 2, 1}) {
        int w = v, got = 99;
        r.k(std::string(n) + std::to_string(v), cuMemPoolSetAttribute(q, a, &w));
        cuMemPoolGetAttribute(q, a, &got);
        r.k(std::string(n) + std::to_string(v) + ".got", got);
      }
    }
    cuuint64_t zero = 0, one = 1;
    r.k("reset_reserved_high", cuMemPoolSetAttribute(q, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero));
    r.k("reset_used_high", cuMemPoolSetAttribute(q, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
    r.k("reserved_high_one", cuMemPoolSetAttribute(q, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &one));
    r.k("used_high_one", cuMemPoolSetAttribute(q, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &one));
    r.k("set_used_current", cuMemPoolSetAttribute(q, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &zero));
    r.k("set_reserved_current",
        cuMemPoolSetAttribute(q, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &zero));
    r.k("bad_attr_get", cuMemPoolGetAttribute(q, static_cast<CUmemPool_attribute>(77), &one));
    r.k("bad_attr_set", cuMemPoolSetAttribute(q, static_cast<CUmemPool_attribute>(77), &one));
    r.k("attr0_get", cuMemPoolGetAttribute(q, static_cast<CUmemPool_attribute>(0), &one));
    r.k("null_value", cuMemPoolGetAttribute(q, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, nullptr));
  });
  add("pool.create_props", [](Rec& r) {
    auto tryit = [&](const char* n, const CUmemPoolProps& p) {
      CUmemoryPool q = nullptr;
      r.k(n, cuMemPoolCreate(&q, &p));
      if (q) cuMemPoolDestroy(q);
    };
    CUmemPoolProps p = pool_props();
    tryit("ok", p);
    p.allocType = CU_MEM_ALLOCATION_TYPE_INVALID;
    tryit("type_invalid", p);
    p = pool_props();
    p.location.type = CU_MEM_LOCATION_TYPE_INVALID;
    tryit("location_invalid", p);
    p = pool_props();
    p.location.id = 99;
    tryit("device_99", p);
    p = pool_props();
    p.location.id = -1;
    tryit("device_neg", p);
    p = pool_props();
    p.location.type = CU_MEM_LOCATION_TYPE_HOST;
    tryit("host", p);
    p = pool_props();
    p.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
    tryit("numa_current", p);
    p = pool_props();
    p.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    tryit("posix_fd", p);
    p = pool_props();
    p.handleTypes = CU_MEM_HANDLE_TYPE_WIN32;
    tryit("win32", p);
    p = pool_props();
    p.maxSize = 64 << 20;
    tryit("max_size", p);
    p = pool_props();
    p.reserved[0] = 1;
    tryit("reserved", p);
    p = pool_props();
    p.win32SecurityAttributes = &p;
    tryit("win32_attrs", p);
  });
  add("pool.max_size", [](Rec& r) {
    CUmemPoolProps p = pool_props();
    p.maxSize = 64 << 20;
    CUmemoryPool q = nullptr;
    OK(cuMemPoolCreate(&q, &p));
    Stream s(NB);
    CUdeviceptr a = 0, b = 0;
    r.k("within", cuMemAllocFromPoolAsync(&a, 16 << 20, q, s));
    r.k("beyond", cuMemAllocFromPoolAsync(&b, 128 << 20, q, s));
    if (b) cuMemFreeAsync(b, s);
    if (a) cuMemFreeAsync(a, s);
    OK(cuStreamSynchronize(s));
    cuMemPoolDestroy(q);
  });
}

}  // namespace weir::conformance
