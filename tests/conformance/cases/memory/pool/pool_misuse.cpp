// SPDX-License-Identifier: Apache-2.0
// cases/memory/pool/pool_misuse.cpp - invalid calls on pools: bad arguments, frees of memory that
// is not theirs.
#include "cases/memory/pool/pools.hpp"
#include "probe/probe.hpp"

#include <cstring>

namespace weir::conformance {

void pool_misuse_cases() {
  add("pool.alloc_arguments", [](Rec& r) {
    Pool q;
    Stream s(NB);
    CUdeviceptr p = 0x1234;
    r.k("null_out", cuMemAllocAsync(nullptr, 64, s));
    r.k("null_out_size0", cuMemAllocAsync(nullptr, 0, s));
    r.k("pool_null_out", cuMemAllocFromPoolAsync(nullptr, 64, q, s));
    r.k("null_pool", cuMemAllocFromPoolAsync(&p, 64, nullptr, s));
    r.k("null_pool_size0", cuMemAllocFromPoolAsync(&p, 0, nullptr, s));
    r.k("huge", cuMemAllocFromPoolAsync(&p, 1ull << 50, q, s));
    r.k("untouched", p == 0x1234);
    r.k("used", pool_u64(q, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
    r.k("reserved", pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
    r.k("sync", cuStreamSynchronize(s));
  });
  add("pool.no_context", [](Rec& r) {
    Pool q;
    Stream s(NB);
    CUdeviceptr p = 0, other = 0;
    OK(cuCtxSetCurrent(nullptr));
    const CUresult alloc = cuMemAllocAsync(&p, 64, s);
    const CUresult alloc_null_stream = cuMemAllocAsync(&other, 64, nullptr);
    const CUresult from_pool = cuMemAllocFromPoolAsync(&other, 64, q, s);
    cuuint64_t v = 0;
    const CUresult get = cuMemPoolGetAttribute(q, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &v);
    const CUresult trim = cuMemPoolTrimTo(q, 0);
    const CUresult freed = other ? cuMemFreeAsync(other, s) : CUDA_ERROR_UNKNOWN;
    const CUresult free_now = p ? cuMemFree(p) : CUDA_ERROR_UNKNOWN;
    CUmemoryPool made = nullptr;
    const CUmemPoolProps props = pool_props();
    const CUresult create = cuMemPoolCreate(&made, &props);
    const CUresult destroy = cuMemPoolDestroy(made);
    OK(cuCtxSetCurrent(g.ctx));
    r.k("alloc", alloc);
    r.k("alloc_null_stream", alloc_null_stream);
    r.k("from_pool", from_pool);
    r.k("get", get);
    r.k("trim", trim);
    r.k("free_async", freed);
    r.k("free", free_now);
    r.k("create", create);
    r.k("destroy", destroy);
    OK(cuStreamSynchronize(s));
  });
  add("pool.double_free", [](Rec& r) {
    Pool q;
    set_reuse(q, ALL);
    Stream s(NB), t(NB);
    CUdeviceptr a = pool_alloc(q, 4096, s);
    ValueGate v;
    v.arm(s);
    r.k("free", cuMemFreeAsync(a, s));
    r.k("again", cuMemFreeAsync(a, s));
    r.k("again_other_stream", cuMemFreeAsync(a, t));
    r.k("again_at_once", cuMemFree(a));
    r.k("used", pool_u64(q, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
    v.open();
    OK(cuStreamSynchronize(s));
    r.k("after_sync", cuMemFreeAsync(a, s));
    a = pool_alloc(q, 4096, s);
    r.k("at_once", cuMemFree(a));
    r.k("at_once_again", cuMemFree(a));
    r.k("async_after_at_once", cuMemFreeAsync(a, s));
    OK(cuStreamSynchronize(s));
  });
  add("pool.free_of_other_kinds", ISO, [](Rec& r) {
    alignas(4096) static unsigned char page[4096];
    Stream s(NB);
    CUdeviceptr managed = 0, device = 0;
    OK(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAlloc(&device, 4096));
    OK(cuMemHostRegister(page, 4096, 0));
    r.k("registered", cuMemFreeAsync(reinterpret_cast<CUdeviceptr>(page), s));
    r.k("device_inner", cuMemFreeAsync(device + 256, s));
    r.k("managed", cuMemFreeAsync(managed, s));
    r.k("garbage", cuMemFreeAsync(0x1234, s));
    r.k("device", cuMemFreeAsync(device, s));
    r.k("sync", cuStreamSynchronize(s));
    r.k("device_after_sync", cuMemFreeAsync(device, s));
    r.k("managed_lives", cuMemFree(managed));
    cuMemHostUnregister(page);
  });
  add("pool.free_of_mem_alloc_is_ordered", [](Rec& r) {
    // cuMemFreeAsync of memory of cuMemAlloc: whether it frees behind the gate or at once, and
    // whether the call waits
    Stream s(NB);
    CUdeviceptr p = 0;
    OK(cuMemAlloc(&p, 4096));
    ValueGate v;
    v.arm(s);
    record_blocking(r, "free", blocking([&] { v.open(); }, [&] { return cuMemFreeAsync(p, s); }));
    unsigned ty = 0;
    r.k("attribute_pending", cuPointerGetAttribute(&ty, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
    v.open();
    OK(cuStreamSynchronize(s));
    r.k("attribute_after", cuPointerGetAttribute(&ty, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
  });
  add("pool.freed_addresses", [](Rec& r) {
    // The attributes of a block's address while its free is pending and afterwards, and of its
    // neighborhood.
    Pool q;
    set_reuse(q, ALL);
    Stream s(NB);
    const CUdeviceptr a = pool_alloc(q, 1000, s);
    OK(cuStreamSynchronize(s));
    unsigned ty = 0;
    CUdeviceptr base = 0;
    size_t size = 0;
    r.k("live_inner", cuPointerGetAttribute(&ty, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a + 999));
    r.k("live_past_end", cuPointerGetAttribute(&ty, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a + 1000));
    r.k("live_next_granule",
        cuPointerGetAttribute(&ty, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a + 1024));
    ValueGate v;
    v.arm(s);
    OK(cuMemFreeAsync(a, s));
    r.k("pending", cuPointerGetAttribute(&ty, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a));
    r.k("pending_range", cuMemGetAddressRange(&base, &size, a));
    v.open();
    OK(cuStreamSynchronize(s));
    r.k("complete", cuPointerGetAttribute(&ty, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a));
    r.k("complete_range", cuMemGetAddressRange(&base, &size, a));
    OK(cuMemPoolTrimTo(q, 0));
    r.k("trimmed", cuPointerGetAttribute(&ty, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a));
  });
  add("pool.bounds", [](Rec& r) {
    // Work past the end of a block, but within the pool's reserved memory.
    Pool q;
    Stream s(NB);
    const CUdeviceptr a = pool_alloc(q, 1000, s);
    r.k("whole", cuMemsetD8Async(a, 1, 1000, s));
    r.k("one_more", cuMemsetD8Async(a, 1, 1001, s));
    r.k("granule", cuMemsetD8Async(a, 1, 1024, s));
    r.k("behind_granule", cuMemsetD8Async(a, 1, 2048, s));
    r.k("copy_one_more", cuMemcpyDtoHAsync(g.pin, a, 1001, s));
    OK(cuMemFreeAsync(a, s));
    r.k("sync", cuStreamSynchronize(s));
  });
  add("pool.free_in_other_context", SECOND_CONTEXT, [](Rec& r) {
    OtherCtx o;
    Stream s(NB);
    CUstream t = nullptr;
    {
      Current cur(o);
      OK(cuStreamCreate(&t, NB));
    }
    CUdeviceptr p = 0, d = 0;
    OK(cuMemAllocAsync(&p, 4096, s));
    OK(cuStreamSynchronize(s));
    r.k("alloc_there", cuMemAllocAsync(&d, 4096, t));
    r.k("free_there", cuMemFreeAsync(p, t));
    if (d) r.k("free_here", cuMemFreeAsync(d, s));
    r.k("sync_there", cuStreamSynchronize(t));
    r.k("sync_here", cuStreamSynchronize(s));
    cuStreamDestroy(t);
  });
  add("pool.destroyed_pool", ISO, [](Rec& r) {
    Stream s(NB);
    Pool q;
    const CUdeviceptr a = pool_alloc(q, 4096, s);
    OK(cuStreamSynchronize(s));
    CUmemoryPool gone = q.p;
    r.k("destroy", cuMemPoolDestroy(gone));
    q.p = nullptr;
    CUmemoryPool told = nullptr;
    CUdeviceptr b = 0;
    r.k("pool_of_block", cuPointerGetAttribute(&told, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a));
    r.k("pool_same", told == gone);
    r.k("use", cuMemsetD8Async(a, 1, 4096, s));
    r.k("free", cuMemFreeAsync(a, s));
    r.k("sync", cuStreamSynchronize(s));
    r.k("alloc_default", cuMemAllocAsync(&b, 64, s));
    r.k("free_default", cuMemFreeAsync(b, s));
    r.k("sync2", cuStreamSynchronize(s));
  });
  add("pool.props_more", [](Rec& r) {
    auto tryit = [&](const std::string& n, const CUmemPoolProps& p) {
      CUmemoryPool q = nullptr;
      r.k(n, cuMemPoolCreate(&q, &p));
      if (q) r.k(n + ".destroy", cuMemPoolDestroy(q));
    };
    CUmemPoolProps p = pool_props();
    for (int type : {2, 3, 0x7fffffff}) {
      p = pool_props();
      p.allocType = static_cast<CUmemAllocationType>(type);
      tryit("type" + std::to_string(type), p);
    }
    for (int type : {3, 4, 5, 99}) {
      p = pool_props();
      p.location.type = static_cast<CUmemLocationType>(type);
      tryit("location" + std::to_string(type), p);
    }
    for (int handles : {1, 2, 3, 4, 8, 9, 16}) {
      p = pool_props();
      p.handleTypes = static_cast<CUmemAllocationHandleType>(handles);
      tryit("handles" + std::to_string(handles), p);
    }
    for (int usage : {1, 2, 3, 4}) {
      p = pool_props();
      p.usage = static_cast<unsigned short>(usage);
      tryit("usage" + std::to_string(usage), p);
    }
    p = pool_props();
    p.maxSize = ~size_t{0};
    tryit("max_huge", p);
    p = pool_props();
    p.location.type = CU_MEM_LOCATION_TYPE_HOST;
    p.location.id = 99;
    tryit("host_id99", p);
  });
  add("pool.attribute_values", [](Rec& r) {
    Pool q;
    for (int a : {-1, 0, 9, 10, 11}) {
      cuuint64_t v = 0;
      r.k("get" + std::to_string(a),
          cuMemPoolGetAttribute(q, static_cast<CUmemPool_attribute>(a), &v));
      r.k("set" + std::to_string(a),
          cuMemPoolSetAttribute(q, static_cast<CUmemPool_attribute>(a), &v));
    }
    for (int a = 1; a <= 8; a++) {
      unsigned char one[16], two[16];
      memset(one, 0x11, sizeof one);
      memset(two, 0xee, sizeof two);
      OK(cuMemPoolGetAttribute(q, static_cast<CUmemPool_attribute>(a), one));
      OK(cuMemPoolGetAttribute(q, static_cast<CUmemPool_attribute>(a), two));
      size_t written = 0;
      for (size_t i = 0; i < sizeof one; i++) written += one[i] == two[i];
      r.k("bytes" + std::to_string(a), written);
    }
    int minus = -1, got = 77;
    r.k("flag_minus_one",
        cuMemPoolSetAttribute(q, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &minus));
    OK(cuMemPoolGetAttribute(q, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &got));
    r.k("flag_got", got);
  });
  add("pool.attribute_null", ISO, [](Rec& r) {
    Pool q;
    r.k("set", cuMemPoolSetAttribute(q, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, nullptr));
  });
  add("pool.max_size_limits", [](Rec& r) {
    size_t total = 0;
    OK(cuDeviceTotalMem(&total, g.dev));
    const std::pair<const char*, size_t> sizes[] = {
        {"total", total},
        {"twice_total", 2 * total},
        {"tib", size_t{1} << 40},
        {"64tib", size_t{1} << 46},
        {"128tib", size_t{1} << 47},
        {"256tib", size_t{1} << 48},
        {"half_of_all", size_t{1} << 63},
        {"nearly_all", ~size_t{0} - (size_t{64} << 20)}};
    for (auto& [n, bytes] : sizes) {
      CUmemPoolProps p = pool_props();
      p.maxSize = bytes;
      CUmemoryPool q = nullptr;
      r.k(n, cuMemPoolCreate(&q, &p));
      if (q) cuMemPoolDestroy(q);
    }
  });
}

}  // namespace weir::conformance
