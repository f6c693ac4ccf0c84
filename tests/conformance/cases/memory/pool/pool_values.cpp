// SPDX-License-Identifier: Apache-2.0
// cases/memory/pool/pool_values.cpp - unusual values for pools: properties, attributes, limits, and
// the order of checks.
#include "cases/memory/pool/pools.hpp"
#include "probe/probe.hpp"

#include <climits>
#include <utility>

namespace weir::conformance {
namespace {

CUmemoryPool no_pool() { return nullptr; }

void properties_cases() {
  add("pool.create_handle_types", [](Rec& r) {
    for (unsigned types : {0u, 1u, 2u, 3u, 4u, 5u, 8u, 9u, 16u, 0x80000000u}) {
      CUmemPoolProps p = pool_props();
      p.handleTypes = static_cast<CUmemAllocationHandleType>(types);
      CUmemoryPool q = nullptr;
      // support for fabric handles depends on the machine's links
      const std::string fabric = (types & 8) != 0 ? "~" : "";
      r.k(fabric + "types" + std::to_string(static_cast<int>(types)), cuMemPoolCreate(&q, &p));
      if (q) cuMemPoolDestroy(q);
    }
  });
  add("pool.create_odd", [](Rec& r) {
    const auto tryit = [&](const char* n, const CUmemPoolProps& p) {
      CUmemoryPool q = nullptr;
      r.k(n, cuMemPoolCreate(&q, &p));
      if (q) cuMemPoolDestroy(q);
    };
    CUmemPoolProps p = pool_props();
    p.usage = 1;
    tryit("usage1", p);
    p = pool_props();
    p.usage = 0xffff;
    tryit("usage_all", p);
    p = pool_props();
    p.reserved[53] = 1;
    tryit("reserved_last", p);
    p = pool_props();
    p.maxSize = ~static_cast<size_t>(0);
    tryit("max_all", p);
    p = pool_props();
    p.maxSize = 1;
    tryit("max_1", p);
    p = pool_props();
    p.allocType = static_cast<CUmemAllocationType>(2);
    tryit("type_managed", p);
    p = pool_props();
    p.allocType = static_cast<CUmemAllocationType>(77);
    tryit("type_77", p);
    p = pool_props();
    p.location.type = CU_MEM_LOCATION_TYPE_HOST;
    p.location.id = 5;
    tryit("host_id5", p);
    p = pool_props();
    p.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    p.location.id = 0;
    tryit("numa0", p);
    p.location.id = 99;
    tryit("numa99", p);
    p.location.id = -1;
    tryit("numa_minus1", p);
    p = pool_props();
    p.location.type = static_cast<CUmemLocationType>(77);
    tryit("location_77", p);
    CUmemoryPool q = nullptr;
    p = pool_props();
    r.k("no_out", cuMemPoolCreate(nullptr, &p));
    r.k("no_props", cuMemPoolCreate(&q, nullptr));
    on_thread([&] { r.k("no_context", cuMemPoolCreate(&q, &p)); }, false);
    if (q) cuMemPoolDestroy(q);
  });
  add("pool.max_size_steps", [](Rec& r) {
    // how the maximum size is rounded
    for (const auto& [n, most] : {std::pair<const char*, size_t>{"1", 1},
                                  {"2m", 2u << 20},
                                  {"2m_less", (2u << 20) - 1},
                                  {"32m", 32u << 20},
                                  {"33m", 33u << 20}}) {
      CUmemPoolProps p = pool_props();
      p.maxSize = most;
      CUmemoryPool q = nullptr;
      const std::string k = n;
      if (r.k(k + ".create", cuMemPoolCreate(&q, &p)) != CUDA_SUCCESS) continue;
      Stream s(NB);
      for (const auto& [an, bytes] : {std::pair<const char*, size_t>{"1", 1},
                                      {"1m", 1u << 20},
                                      {"2m", 2u << 20},
                                      {"2m_more", (2u << 20) + 1},
                                      {"32m", 32u << 20},
                                      {"33m", 33u << 20},
                                      {"64m", 64u << 20}}) {
        CUdeviceptr a = 0;
        r.k(k + ".alloc_" + an, cuMemAllocFromPoolAsync(&a, bytes, q, s));
        if (a) OK(cuMemFreeAsync(a, s));
        OK(cuStreamSynchronize(s));
      }
      cuMemPoolDestroy(q);
    }
  });
  add("pool.max_size_used_up", [](Rec& r) {
    CUmemPoolProps p = pool_props();
    p.maxSize = 32u << 20;
    CUmemoryPool q = nullptr;
    OK(cuMemPoolCreate(&q, &p));
    Stream s(NB);
    CUdeviceptr a = 0, b = 0, c = 0;
    r.k("first", cuMemAllocFromPoolAsync(&a, 20u << 20, q, s));
    r.k("beyond", cuMemAllocFromPoolAsync(&b, 20u << 20, q, s));
    OK(cuMemFreeAsync(a, s));
    r.k("after_free", cuMemAllocFromPoolAsync(&c, 20u << 20, q, s));
    if (c) OK(cuMemFreeAsync(c, s));
    OK(cuStreamSynchronize(s));
    cuMemPoolDestroy(q);
  });
}

void attribute_cases() {
  add("pool.attribute_numbers", [](Rec& r) {
    // attributes of later drivers
    Pool q;
    for (int n : {-1, 0, 9, 10, 11, 12, 13, 14, 15, 100}) {
      cuuint64_t v[4] = {};
      r.k("get" + std::to_string(n),
          cuMemPoolGetAttribute(q, static_cast<CUmemPool_attribute>(n), v));
    }
    cuuint64_t zero = 0;
    for (int n : {-1, 0, 9, 10, 11, 12, 13, 14, 15, 100}) {
      r.k("set" + std::to_string(n),
          cuMemPoolSetAttribute(q, static_cast<CUmemPool_attribute>(n), &zero));
    }
  });
  add("pool.attribute_odd_values", [](Rec& r) {
    Pool q;
    for (const auto& [n, a] : {std::pair<const char*, CUmemPool_attribute>{
                                   "follow_event", CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES},
                               {"opportunistic", CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC},
                               {"internal", CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES}}) {
      for (int v : {-1, INT_MAX, INT_MIN, 0x100}) {
        int w = v, got = 99;
        const std::string k = std::string(n) + "_" + std::to_string(v);
        r.k(k, cuMemPoolSetAttribute(q, a, &w));
        cuMemPoolGetAttribute(q, a, &got);
        r.k(k + ".got", got);
      }
    }
    for (cuuint64_t v :
         {cuuint64_t{1}, cuuint64_t{4097}, ~cuuint64_t{0} - 1, cuuint64_t{1} << 63}) {
      cuuint64_t w = v;
      r.k("threshold", cuMemPoolSetAttribute(q, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &w));
      r.k("threshold.same", pool_u64(q, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) == v);
    }
  });
  add("pool.attribute_width", [](Rec& r) {
    // how many bytes of the variable a read writes
    Pool q;
    for (int n = 1; n <= 8; n++) {
      unsigned char v[16];
      for (unsigned char& b : v) b = 0xee;
      OK(cuMemPoolGetAttribute(q, static_cast<CUmemPool_attribute>(n), v));
      int wide = 16;
      while (wide > 0 && v[wide - 1] == 0xee) wide--;
      r.k("attr" + std::to_string(n), wide);
    }
  });
  add("pool.attribute_no_pool", [](Rec& r) {
    cuuint64_t v = 0;
    const auto bad = static_cast<CUmemPool_attribute>(77);
    r.k("get", cuMemPoolGetAttribute(no_pool(), CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &v));
    r.k("set", cuMemPoolSetAttribute(no_pool(), CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &v));
    r.k("get_bad", cuMemPoolGetAttribute(no_pool(), bad, &v));
    r.k("trim", cuMemPoolTrimTo(no_pool(), 1));
    CUmemAccess_flags f = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    CUmemLocation here{};
    here.type = CU_MEM_LOCATION_TYPE_DEVICE;
    here.id = g.dev;
    r.k("get_access", cuMemPoolGetAccess(&f, no_pool(), &here));
    CUmemAccessDesc d{};
    d.location = here;
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    r.k("set_access", cuMemPoolSetAccess(no_pool(), &d, 1));
    int fd = -1;
    r.k("export", cuMemPoolExportToShareableHandle(&fd, no_pool(),
                                                   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CUdeviceptr a = 0;
    Stream s(NB);
    r.k("alloc", cuMemAllocFromPoolAsync(&a, 16, no_pool(), s));
    Pool q;
    r.k("get_bad_no_value", cuMemPoolGetAttribute(q, bad, nullptr));
  });
  add("pool.attribute_without_context", [](Rec& r) {
    Pool q;
    on_thread(
        [&] {
          cuuint64_t v = 0;
          CUmemoryPool d = nullptr;
          CUdeviceptr a = 0;
          r.k("get", cuMemPoolGetAttribute(q, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &v));
          r.k("set", cuMemPoolSetAttribute(q, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &v));
          r.k("trim", cuMemPoolTrimTo(q, 0));
          r.k("default", cuDeviceGetDefaultMemPool(&d, g.dev));
          r.k("current", cuDeviceGetMemPool(&d, g.dev));
          r.k("set_current", cuDeviceSetMemPool(g.dev, d));
          r.k("alloc_null_stream", cuMemAllocFromPoolAsync(&a, 16, q, nullptr));
        },
        false);
  });
  add("pool.high_marks", [](Rec& r) {
    Pool q;
    Stream s(NB);
    cuuint64_t keep = ~0ull, zero = 0;
    OK(cuMemPoolSetAttribute(q, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    CUdeviceptr a = 0, b = 0;
    OK(cuMemAllocFromPoolAsync(&a, 2u << 20, q, s));
    OK(cuMemAllocFromPoolAsync(&b, 1u << 20, q, s));
    OK(cuMemFreeAsync(a, s));
    OK(cuStreamSynchronize(s));
    r.k("used", pool_u64(q, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
    r.k("used_high", pool_u64(q, CU_MEMPOOL_ATTR_USED_MEM_HIGH));
    OK(cuMemPoolSetAttribute(q, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
    r.k("used_high_reset", pool_u64(q, CU_MEMPOOL_ATTR_USED_MEM_HIGH));
    OK(cuMemFreeAsync(b, s));
    OK(cuStreamSynchronize(s));
    r.k("used_high_after_free", pool_u64(q, CU_MEMPOOL_ATTR_USED_MEM_HIGH));
    r.k("reserved_is_high", pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) ==
                                pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
    OK(cuMemPoolTrimTo(q, 0));
    r.k("reserved", pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
    r.k("reserved_high_stays", pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) != 0);
    OK(cuMemPoolSetAttribute(q, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero));
    r.k("reserved_high_reset", pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH));
  });
  add("pool.trim_values", [](Rec& r) {
    Pool q;
    Stream s(NB);
    r.k("empty", cuMemPoolTrimTo(q, 0));
    r.k("empty_all", cuMemPoolTrimTo(q, ~static_cast<size_t>(0)));
    cuuint64_t keep = ~0ull;
    OK(cuMemPoolSetAttribute(q, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    CUdeviceptr a = 0;
    OK(cuMemAllocFromPoolAsync(&a, 1u << 20, q, s));
    OK(cuMemFreeAsync(a, s));
    OK(cuStreamSynchronize(s));
    r.k("all", cuMemPoolTrimTo(q, ~static_cast<size_t>(0)));
    r.k("kept", pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) != 0);
    CUmemoryPool d = nullptr;
    OK(cuDeviceGetDefaultMemPool(&d, g.dev));
    r.k("default", cuMemPoolTrimTo(d, 0));
  });
}

}  // namespace

void pool_values_cases() {
  properties_cases();
  attribute_cases();
}

}  // namespace weir::conformance
