// SPDX-License-Identifier: Apache-2.0
// cases/two_devices/two_pool_memory.cpp - memory of one device's pool, allocated and freed in
// streams of the other.
#include "cases/memory/pool/pools.hpp"
#include "cases/two_devices/two_reach.hpp"

namespace weir::conformance {
namespace {

class FarPool {
 public:
  CUmemoryPool p = nullptr;
  FarPool() {
    CUmemPoolProps props = pool_props();
    props.location.id = SecondDevice::dev;
    OK(cuMemPoolCreate(&p, &props));
  }
  FarPool(const FarPool&) = delete;
  FarPool& operator=(const FarPool&) = delete;
  ~FarPool() { cuMemPoolDestroy(p); }
  operator CUmemoryPool() const { return p; }
};

}  // namespace

void two_pool_memory_cases() {
  add("two.alloc_of_far_pool_in_near_stream", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Stream s(NB);
    const FarPool pool;
    CUdeviceptr p = 0;
    r.k("alloc", cuMemAllocFromPoolAsync(&p, 4096, pool, s));
    OK(cuStreamSynchronize(s));
    if (!p) return;
    rec_device(r, "device", p);
    put_words(device1.ctx, p, 3);
    r.k("word", get_word(device1.ctx, p));
    r.k("free_near", cuMemFreeAsync(p, s));
    r.k("sync", cuStreamSynchronize(s));
    OK(cuMemAllocFromPoolAsync(&p, 4096, pool, s));
    OK(cuStreamSynchronize(s));
    r.k("free_far", cuMemFreeAsync(p, device1.s));
    r.k("sync_far", cuStreamSynchronize(device1.s));
    OK(cuMemAllocFromPoolAsync(&p, 4096, pool, s));
    OK(cuStreamSynchronize(s));
    r.k("free_at_once", cuMemFree(p));
  });
  add("two.alloc_of_far_pool_in_far_stream", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Stream s(NB);
    const FarPool pool;
    CUdeviceptr p = 0;
    r.k("alloc", cuMemAllocFromPoolAsync(&p, 4096, pool, device1.s));
    OK(cuStreamSynchronize(device1.s));
    if (!p) return;
    rec_device(r, "device", p);
    r.k("free_near", cuMemFreeAsync(p, s));
    r.k("sync", cuStreamSynchronize(s));
    OK(cuMemAllocFromPoolAsync(&p, 4096, pool, device1.s));
    r.k("free_legacy", cuMemFreeAsync(p, LEGACY));
    OK(cuCtxSynchronize());
    OK(cuStreamSynchronize(device1.s));
  });
  add("two.alloc_of_near_pool_in_far_stream", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Pool pool;
    CUdeviceptr p = 0;
    r.k("alloc", cuMemAllocFromPoolAsync(&p, 4096, pool, device1.s));
    OK(cuStreamSynchronize(device1.s));
    if (!p) return;
    rec_device(r, "device", p);
    r.k("set_far", cuMemsetD32Async(g.dbuf, 1, 1, device1.s));
    r.k("free_far", cuMemFreeAsync(p, device1.s));
    r.k("sync", cuStreamSynchronize(device1.s));
  });
  add("two.alloc_in_far_stream", SECOND_DEVICE, [](Rec& r) {
    // which pool is used: that of the stream's device, or that of the current context
    const SecondDevice device1;
    const Stream s(NB);
    CUdeviceptr p = 0;
    r.k("alloc", cuMemAllocAsync(&p, 4096, device1.s));
    OK(cuStreamSynchronize(device1.s));
    rec_device(r, "device", p);
    CUmemoryPool of = nullptr, far_default = nullptr;
    OK(cuDeviceGetDefaultMemPool(&far_default, SecondDevice::dev));
    OK(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p));
    r.k("far_default_pool", of == far_default);
    r.k("free", cuMemFreeAsync(p, device1.s));
    OK(cuStreamSynchronize(device1.s));
    const Current current(device1.ctx);
    r.k("near_stream", cuMemAllocAsync(&p, 4096, s));
    OK(cuStreamSynchronize(s));
    rec_device(r, "near_device", p);
    r.k("near_free", cuMemFreeAsync(p, s));
    OK(cuStreamSynchronize(s));
    r.k("legacy", cuMemAllocAsync(&p, 4096, nullptr));
    rec_device(r, "legacy_device", p);
    r.k("legacy_free", cuMemFreeAsync(p, nullptr));
    OK(cuCtxSynchronize());
  });
  add("two.free_of_far_memory", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Stream s(NB);
    CUdeviceptr p = 0;
    const auto plain = [&] {
      const Current current(device1.ctx);
      OK(cuMemAlloc(&p, 4096));
    };
    plain();
    r.k("plain", cuMemFree(p));
    plain();
    r.k("plain_async_far", cuMemFreeAsync(p, device1.s));
    OK(cuStreamSynchronize(device1.s));
    plain();
    r.k("plain_async_near", cuMemFreeAsync(p, s));
    OK(cuStreamSynchronize(s));
    OK(cuMemAllocAsync(&p, 4096, device1.s));
    OK(cuStreamSynchronize(device1.s));
    r.k("pool", cuMemFree(p));
    OK(cuMemAllocAsync(&p, 4096, device1.s));
    r.k("pool_without_context", [&] {
      CUresult res = CUDA_SUCCESS;
      on_thread([&] { res = cuMemFreeAsync(p, device1.s); }, false);
      return res;
    }());
    OK(cuStreamSynchronize(device1.s));
  });
  add("two.free_waits_for", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Stream s(NB);
    const auto freed = [&](const char* key, CUstream held) {
      CUdeviceptr p = 0;
      {
        const Current current(device1.ctx);
        OK(cuMemAlloc(&p, 4096));
      }
      ValueGate v;
      hold(v, held);
      record_blocking(r, key, blocking([&] { v.open(); }, [&] { return cuMemFree(p); }));
      v.open();
      OK(cuStreamSynchronize(held));
    };
    freed("near_held", s);
    freed("far_held", device1.s);
  });
  add("two.reuse_across_devices", SECOND_DEVICE, [](Rec& r) {
    // Memory freed in a stream of device 0, allocated again in one of device 1 that an event orders
    // behind.
    const SecondDevice device1;
    const Stream s(NB);
    const FarPool pool;
    set_pool_u64(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, ~0ull);
    Event e;
    CUdeviceptr first = pool_alloc(pool, 1 << 20, s);
    OK(cuMemFreeAsync(first, s));
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(device1.s, e, 0));
    const CUdeviceptr second = pool_alloc(pool, 1 << 20, device1.s);
    r.k("after_event", where(second, {{"same", first}}));
    OK(cuMemFreeAsync(second, device1.s));
    OK(cuStreamSynchronize(device1.s));
    const CUdeviceptr third = pool_alloc(pool, 1 << 20, s);
    r.k("after_sync", where(third, {{"same", first}}));
    OK(cuMemFreeAsync(third, s));
    OK(cuStreamSynchronize(s));
    r.k("reserved", pool_u64(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
  });
}

}  // namespace weir::conformance
