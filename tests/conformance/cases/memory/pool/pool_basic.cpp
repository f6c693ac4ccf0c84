// SPDX-License-Identifier: Apache-2.0
// cases/memory/pool/pool_basic.cpp - the stream-ordered allocator: allocating and freeing.
#include "cases/memory/pool/pools.hpp"
#include "probe/probe.hpp"

#include <cstring>
#include <utility>

namespace weir::conformance {

void pool_basic_cases() {
  add("pool.defaults", ISO, [](Rec& r) {
    CUmemoryPool d = nullptr, c = nullptr;
    r.k("default", cuDeviceGetDefaultMemPool(&d, g.dev));
    r.k("current", cuDeviceGetMemPool(&c, g.dev));
    r.k("same", d == c);
    r.k("default_bad_dev", cuDeviceGetDefaultMemPool(&c, 99));
    for (auto& [n, a] : {std::pair<const char*, CUmemPool_attribute>{
                             "follow_event", CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES},
                         {"opportunistic", CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC},
                         {"internal", CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES}}) {
      int v = 99;
      r.k(n, cuMemPoolGetAttribute(d, a, &v));
      r.k(std::string(n) + ".value", v);
    }
    r.k("threshold", pool_u64(d, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD));
    CUmemLocation loc{};
    loc.type = CU_MEM_LOCATION_TYPE_DEVICE;
    loc.id = g.dev;
    CUmemoryPool q = nullptr;
    r.k("location_default", cuMemGetDefaultMemPool(&q, &loc, CU_MEM_ALLOCATION_TYPE_PINNED));
    r.k("location_same", q == d);
    r.k("location_current", cuMemGetMemPool(&q, &loc, CU_MEM_ALLOCATION_TYPE_PINNED));
    r.k("location_current_same", q == d);
  });
  add("pool.basic", [](Rec& r) {
    Stream s(NB);
    CUdeviceptr p = 0;
    uint32_t v = 0;
    r.k("alloc", cuMemAllocAsync(&p, 4096, s));
    r.k("not_null", p != 0);
    r.k("aligned_256", (p & 255) == 0);
    OK(cuMemsetD32Async(p, 51, 1024, s));
    OK(cuMemcpyDtoHAsync(g.pin, p, 4, s));
    r.k("free", cuMemFreeAsync(p, s));
    OK(cuStreamSynchronize(s));
    memcpy(&v, g.pin, 4);
    r.k("value", v);
  });
  add("pool.sizes", [](Rec& r) {
    Stream s(NB);
    CUdeviceptr p = 0;
    r.k("size0", cuMemAllocAsync(&p, 0, s));
    r.k("huge", cuMemAllocAsync(&p, 1ull << 50, s));
    r.k("max", cuMemAllocAsync(&p, ~0ull, s));
    r.k("alloc_after", cuMemAllocAsync(&p, 64, s));
    r.k("free", cuMemFreeAsync(p, s));
    r.k("sync", cuStreamSynchronize(s));
  });
  add("pool.does_not_block_host", [](Rec& r) {
    Stream s(NB);
    CUdeviceptr warm = 0, p = 0;
    OK(cuMemAllocAsync(&warm, 1 << 20, s));
    OK(cuMemFreeAsync(warm, s));
    OK(cuStreamSynchronize(s));
    ValueGate v;
    v.arm(s);
    record_blocking(r, "alloc_busy",
                    blocking([&] { v.open(); }, [&] { return cuMemAllocAsync(&p, 4096, s); }));
    r.k("not_null", p != 0);
    record_blocking(r, "free_busy",
                    blocking([&] { v.open(); }, [&] { return cuMemFreeAsync(p, s); }));
    v.open();
    OK(cuStreamSynchronize(s));
  });
  add("pool.pointer_attributes", [](Rec& r) {
    Stream s(NB);
    CUdeviceptr p = 0;
    OK(cuMemAllocAsync(&p, 4096, s));
    OK(cuStreamSynchronize(s));
    unsigned ty = 0, managed = 9, sync = 9, mapped = 9, ipc = 9;
    int dev = -1;
    CUmemoryPool h = nullptr, d = nullptr;
    CUcontext c = reinterpret_cast<CUcontext>(1);
    size_t size = 0;
    OK(cuDeviceGetDefaultMemPool(&d, g.dev));
    r.k("type", cuPointerGetAttribute(&ty, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
    r.k("type_value", ty);
    r.k("ordinal", cuPointerGetAttribute(&dev, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p));
    r.k("ordinal_ok", dev == g.dev);
    r.k("pool", cuPointerGetAttribute(&h, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p));
    r.k("pool_is_default", h == d);
    r.k("context", cuPointerGetAttribute(&c, CU_POINTER_ATTRIBUTE_CONTEXT, p));
    r.k("context_kind", c == nullptr ? "null" : c == g.ctx ? "current" : "other");
    r.k("managed", cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p));
    r.k("managed_value", managed & 1);
    r.k("range_size", cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, p));
    r.k("range_size_value", size);
    r.k("mapped", cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, p));
    r.k("sync_memops", cuPointerGetAttribute(&sync, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p));
    r.k("ipc_capable",
        cuPointerGetAttribute(&ipc, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, p));
    r.k("ipc_capable_value", ipc & 1);
    CUdeviceptr base = 0;
    size_t rs = 0;
    r.k("address_range", cuMemGetAddressRange(&base, &rs, p + 100));
    r.k("address_range_base", base == p);
    r.k("address_range_size", rs);
    OK(cuMemFreeAsync(p, s));
    OK(cuStreamSynchronize(s));
  });
  add("pool.free_on_other_stream", [](Rec& r) {
    Stream a(NB), b(NB);
    Event e;
    CUdeviceptr p = 0;
    OK(cuMemAllocAsync(&p, 4096, a));
    OK(cuMemsetD32Async(p, 52, 4, a));
    OK(cuEventRecord(e, a));
    OK(cuStreamWaitEvent(b, e, 0));
    OK(cuMemcpyDtoHAsync(g.pin, p, 4, b));
    r.k("free", cuMemFreeAsync(p, b));
    OK(cuStreamSynchronize(b));
    uint32_t v = 0;
    memcpy(&v, g.pin, 4);
    r.k("value", v);
  });
  add("pool.sync_free", [](Rec& r) {
    Stream s(NB);
    CUdeviceptr p = 0;
    OK(cuMemAllocAsync(&p, 4096, s));
    OK(cuStreamSynchronize(s));
    r.k("mem_free", cuMemFree(p));
    r.k("free_async_after", cuMemFreeAsync(p, s));
    r.k("mem_free_after", cuMemFree(p));
    OK(cuStreamSynchronize(s));
  });
  add("pool.sync_free_does_not_wait", [](Rec& r) {
    Stream s(NB), t(NB);
    CUdeviceptr p = 0;
    OK(cuMemAllocAsync(&p, 4096, s));
    OK(cuStreamSynchronize(s));
    ValueGate v;
    v.arm(t);
    record_blocking(r, "mem_free_other_stream_busy",
                    blocking([&] { v.open(); }, [&] { return cuMemFree(p); }));
    v.open();
    OK(cuStreamSynchronize(t));
  });
  add("pool.bad_free", [](Rec& r) {
    Stream s(NB);
    CUdeviceptr p = 0;
    OK(cuMemAllocAsync(&p, 4096, s));
    r.k("null", cuMemFreeAsync(0, s));
    r.k("inner", cuMemFreeAsync(p + 64, s));
    r.k("pinned", cuMemFreeAsync(reinterpret_cast<CUdeviceptr>(g.pin), s));
    r.k("pageable", cuMemFreeAsync(reinterpret_cast<CUdeviceptr>(g.page), s));
    r.k("free", cuMemFreeAsync(p, s));
    r.k("sync", cuStreamSynchronize(s));
    r.k("free_again", cuMemFreeAsync(p, s));
    r.k("sync2", cuStreamSynchronize(s));
  });
  add("pool.free_async_of_mem_alloc", [](Rec& r) {
    Stream s(NB);
    CUdeviceptr p = 0;
    OK(cuMemAlloc(&p, 4096));
    r.k("free_async", cuMemFreeAsync(p, s));
    r.k("sync", cuStreamSynchronize(s));
    unsigned ty = 0;
    r.k("attr_after", cuPointerGetAttribute(&ty, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
  });
  add("pool.special_streams", [](Rec& r) {
    const std::pair<const char*, CUstream> hs[] = {
        {"null", nullptr}, {"legacy", LEGACY}, {"per_thread", PER_THREAD}};
    for (auto& [k, s] : hs) {
      CUdeviceptr p = 0;
      r.k(std::string(k) + ".alloc", cuMemAllocAsync(&p, 256, s));
      r.k(std::string(k) + ".free", cuMemFreeAsync(p, s));
    }
    r.k("sync", cuCtxSynchronize());
  });
  add("pool.stream_destroyed_between", [](Rec& r) {
    CUdeviceptr p = 0;
    {
      Stream s(NB);
      OK(cuMemAllocAsync(&p, 4096, s));
      OK(cuMemsetD32Async(p, 53, 4, s));
    }
    Stream t(NB);
    OK(cuCtxSynchronize());
    uint32_t v = 0;
    r.k("read", cuMemcpyDtoH(&v, p, 4));
    r.k("value", v);
    r.k("free", cuMemFreeAsync(p, t));
    OK(cuStreamSynchronize(t));
  });
}

}  // namespace weir::conformance
