// SPDX-License-Identifier: Apache-2.0
// cases/memory/mem_device.cpp - device and pinned memory.
#include "probe/probe.hpp"

namespace weir::conformance {

void mem_device_cases() {
  add("mem.alloc_sizes", [](Rec& r) {
    CUdeviceptr p = 77;
    r.k("size0", cuMemAlloc(&p, 0));
    r.k("size0_untouched", p == 77);
    p = 0;
    r.k("size1", cuMemAlloc(&p, 1));
    r.k("aligned_256", (p & 255) == 0);
    r.k("aligned_512", (p & 511) == 0);
    if (p) cuMemFree(p);
    p = 0;
    r.k("huge", cuMemAlloc(&p, 1ull << 50));
    r.k("max", cuMemAlloc(&p, ~0ull));
    r.k("alloc_after", cuMemAlloc(&p, 64));
    if (p) cuMemFree(p);
  });
  add("mem.free_errors", [](Rec& r) {
    DevMem d(4096);
    r.k("null", cuMemFree(0));
    r.k("inner", cuMemFree(d.p + 64));
    r.k("pinned", cuMemFree(reinterpret_cast<CUdeviceptr>(g.pin)));
    r.k("pageable", cuMemFree(reinterpret_cast<CUdeviceptr>(g.page)));
    r.k("garbage", cuMemFree(0x1234));
    CUdeviceptr p = d.p;
    d.p = 0;
    r.k("free", cuMemFree(p));
    r.k("again", cuMemFree(p));
  });
  add("mem.address_range", [](Rec& r) {
    DevMem d(5000);
    CUdeviceptr b = 0;
    size_t n = 0;
    r.k("start", cuMemGetAddressRange(&b, &n, d));
    r.k("base_ok", b == d.p);
    r.k("size", n);
    r.k("inner", cuMemGetAddressRange(&b, &n, d + 1000));
    r.k("inner_base_ok", b == d.p);
    r.k("only_base", cuMemGetAddressRange(&b, nullptr, d));
    r.k("only_size", cuMemGetAddressRange(nullptr, &n, d));
    r.k("garbage", cuMemGetAddressRange(&b, &n, 0x1000));
    r.k("null", cuMemGetAddressRange(&b, &n, 0));
    r.k("pinned", cuMemGetAddressRange(&b, &n, reinterpret_cast<CUdeviceptr>(g.pin)));
    r.k("pageable", cuMemGetAddressRange(&b, &n, reinterpret_cast<CUdeviceptr>(g.page)));
  });
  add("mem.pitch", [](Rec& r) {
    CUdeviceptr p = 0;
    size_t pitch = 0;
    for (unsigned e : {0u, 1u, 2u, 3u, 4u, 8u, 16u, 32u}) {
      p = 0;
      r.k("elem" + std::to_string(e), cuMemAllocPitch(&p, &pitch, 100, 4, e));
      if (p) cuMemFree(p);
    }
    p = 0;
    OK(cuMemAllocPitch(&p, &pitch, 100, 4, 4));
    r.k("pitch_at_least", pitch >= 100);
    r.k("pitch", pitch);
    if (p) cuMemFree(p);
    p = 0;
    r.k("width0", cuMemAllocPitch(&p, &pitch, 0, 4, 4));
    if (p) cuMemFree(p);
    p = 0;
    r.k("height0", cuMemAllocPitch(&p, &pitch, 100, 0, 4));
    if (p) cuMemFree(p);
  });
  add("mem.get_info", [](Rec& r) {
    size_t f = 0, t = 0, f2 = 0;
    r.k("get", cuMemGetInfo(&f, &t));
    r.k("sane", t > 0 && f <= t);
    DevMem d(256 << 20);
    OK(cuMemGetInfo(&f2, &t));
    r.k("~free_shrinks", f2 < f);
    r.k("free_null", cuMemGetInfo(nullptr, &t));
    r.k("total_null", cuMemGetInfo(&f, nullptr));
  });
  add("mem.host_alloc_flags", [](Rec& r) {
    for (unsigned f : {0u, 1u, 2u, 3u, 4u, 6u, 7u, 8u, 0x10u, 0x80000000u}) {
      void* p = nullptr;
      std::string k = "f" + std::to_string(f);
      r.k(k, cuMemHostAlloc(&p, 4096, f));
      if (p) {
        unsigned got = 99;
        r.k(k + ".get", cuMemHostGetFlags(&got, p));
        r.k(k + ".flags", got);
        CUdeviceptr d = 0;
        r.k(k + ".devptr", cuMemHostGetDevicePointer(&d, p, 0));
        r.k(k + ".devptr_same", d == reinterpret_cast<CUdeviceptr>(p));
        cuMemFreeHost(p);
      }
    }
    void* p = reinterpret_cast<void*>(1);
    r.k("size0", cuMemHostAlloc(&p, 0, 0));
    r.k("size0_ptr", p == nullptr                      ? "null"
                     : p == reinterpret_cast<void*>(1) ? "untouched"
                                                       : "other");
    p = nullptr;
    r.k("alloc_host", cuMemAllocHost(&p, 64));
    unsigned got = 99;
    r.k("alloc_host_flags", cuMemHostGetFlags(&got, p));
    r.k("alloc_host_flags_value", got);
    r.k("free_host", cuMemFreeHost(p));
    p = nullptr;
    r.k("alloc_host0", cuMemAllocHost(&p, 0));
    r.k("huge", cuMemHostAlloc(&p, 1ull << 50, 0));
  });
  add("mem.host_pointers", [](Rec& r) {
    CUdeviceptr d = 0;
    unsigned f = 0;
    r.k("flags1", cuMemHostGetDevicePointer(&d, g.pin, 1));
    r.k("inner", cuMemHostGetDevicePointer(&d, g.pin + 100, 0));
    r.k("inner_same", d == reinterpret_cast<CUdeviceptr>(g.pin + 100));
    r.k("pageable", cuMemHostGetDevicePointer(&d, g.page, 0));
    r.k("pageable_flags", cuMemHostGetFlags(&f, g.page));
    r.k("device_flags", cuMemHostGetFlags(&f, reinterpret_cast<void*>(g.dbuf)));
    r.k("null", cuMemHostGetDevicePointer(&d, nullptr, 0));
  });
  add("mem.free_host_errors", [](Rec& r) {
    void* p = nullptr;
    OK(cuMemHostAlloc(&p, 4096, 0));
    r.k("null", cuMemFreeHost(nullptr));
    r.k("inner", cuMemFreeHost(static_cast<char*>(p) + 64));
    r.k("pageable", cuMemFreeHost(g.page));
    r.k("device", cuMemFreeHost(reinterpret_cast<void*>(g.dbuf)));
    r.k("free", cuMemFreeHost(p));
    r.k("again", cuMemFreeHost(p));
  });
  add("mem.failures_write_zero", ISO, [](Rec& r) {
    CUdeviceptr p = 7;
    void* h = &p;
    OK(cuCtxSetCurrent(nullptr));
    r.k("alloc", cuMemAlloc(&p, 256));
    r.k("alloc.is", p);
    r.k("host", cuMemHostAlloc(&h, 0, 0));
    r.k("host.zero", h == nullptr);
    int value = 0;
    r.k("range", cuMemRangeGetAttribute(&value, sizeof value, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                        g.dbuf, 0));
    OK(cuCtxSetCurrent(g.ctx));
  });
}

}  // namespace weir::conformance
