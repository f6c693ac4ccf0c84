// SPDX-License-Identifier: Apache-2.0
// cases/memory/pool/pool_current.cpp - current pools, access, reuse.
#include "cases/memory/pool/pools.hpp"
#include "probe/probe.hpp"

#include <unistd.h>

#include <cstring>

namespace weir::conformance {

void pool_current_cases() {
  add("pool.current_pool", ISO, [](Rec& r) {
    CUmemoryPool d = nullptr, c = nullptr, h = nullptr;
    OK(cuDeviceGetDefaultMemPool(&d, g.dev));
    Pool q;
    Stream s(NB);
    r.k("set", cuDeviceSetMemPool(g.dev, q));
    OK(cuDeviceGetMemPool(&c, g.dev));
    r.k("current_is_mine", c == q.p);
    CUdeviceptr p = 0;
    OK(cuMemAllocAsync(&p, 256, s));
    OK(cuPointerGetAttribute(&h, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p));
    r.k("alloc_from_mine", h == q.p);
    OK(cuMemFreeAsync(p, s));
    OK(cuStreamSynchronize(s));
    r.k("destroy_current", cuMemPoolDestroy(q.p));
    q.p = nullptr;
    OK(cuDeviceGetMemPool(&c, g.dev));
    r.k("back_to_default", c == d);
    r.k("set_null", cuDeviceSetMemPool(g.dev, nullptr));
    r.k("set_bad_dev", cuDeviceSetMemPool(99, d));
    cuDeviceSetMemPool(g.dev, d);
  });
  add("pool.destroy_default", ISO, [](Rec& r) {
    CUmemoryPool d = nullptr;
    OK(cuDeviceGetDefaultMemPool(&d, g.dev));
    r.k("destroy", cuMemPoolDestroy(d));
  });
  add("pool.destroy_with_live", [](Rec& r) {
    Stream s(NB);
    Pool q;
    CUdeviceptr p = 0;
    OK(cuMemAllocFromPoolAsync(&p, 4096, q, s));
    record_blocking(r, "destroy", blocking([] {}, [&] { return cuMemPoolDestroy(q.p); }));
    q.p = nullptr;
    r.k("memset", cuMemsetD32Async(p, 54, 4, s));
    OK(cuMemcpyDtoHAsync(g.pin, p, 4, s));
    r.k("free", cuMemFreeAsync(p, s));
    OK(cuStreamSynchronize(s));
    uint32_t v = 0;
    memcpy(&v, g.pin, 4);
    r.k("value", v);
  });
  add("pool.access", [](Rec& r) {
    Pool q;
    CUmemLocation loc{};
    loc.type = CU_MEM_LOCATION_TYPE_DEVICE;
    loc.id = g.dev;
    CUmemAccess_flags f = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    r.k("get", cuMemPoolGetAccess(&f, q, &loc));
    r.k("flags", static_cast<int>(f));
    CUmemAccessDesc d{};
    d.location = loc;
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    r.k("set_rw", cuMemPoolSetAccess(q, &d, 1));
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    r.k("set_none_own_device", cuMemPoolSetAccess(q, &d, 1));
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    r.k("set_read", cuMemPoolSetAccess(q, &d, 1));
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    d.location.id = 99;
    r.k("bad_device", cuMemPoolSetAccess(q, &d, 1));
    loc.id = 99;
    r.k("get_bad_device", cuMemPoolGetAccess(&f, q, &loc));
    r.k("set_null", cuMemPoolSetAccess(q, nullptr, 1));
    r.k("set_count0", cuMemPoolSetAccess(q, nullptr, 0));
  });
  add("pool.export_not_capable", [](Rec& r) {
    Pool q;
    int fd = -1;
    r.k("export",
        cuMemPoolExportToShareableHandle(&fd, q, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    if (fd >= 0) close(fd);
  });
  add("pool.reuse", [](Rec& r) {
    Pool q;
    Stream s(NB), t(NB);
    CUdeviceptr a = 0, b = 0, c = 0;
    cuuint64_t big = ~0ull;
    OK(cuMemPoolSetAttribute(q, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &big));
    OK(cuMemAllocFromPoolAsync(&a, 1 << 20, q, s));
    OK(cuMemFreeAsync(a, s));
    OK(cuMemAllocFromPoolAsync(&b, 1 << 20, q, s));
    r.k("~same_stream_reuses", a == b);
    OK(cuMemFreeAsync(b, s));
    Event e;
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(t, e, 0));
    OK(cuMemAllocFromPoolAsync(&c, 1 << 20, q, t));
    r.k("~follows_event", c == b);
    OK(cuMemFreeAsync(c, t));
    OK(cuStreamSynchronize(t));
    OK(cuStreamSynchronize(s));
  });
  add("pool.two_live_are_disjoint", [](Rec& r) {
    Stream s(NB);
    CUdeviceptr a = 0, b = 0;
    OK(cuMemAllocAsync(&a, 1000, s));
    OK(cuMemAllocAsync(&b, 1000, s));
    OK(cuMemsetD8Async(a, 1, 1000, s));
    OK(cuMemsetD8Async(b, 2, 1000, s));
    OK(cuMemcpyDtoHAsync(g.pin, a, 1000, s));
    OK(cuStreamSynchronize(s));
    bool ok = true;
    for (int i = 0; i < 1000; i++) ok = ok && g.pin[i] == 1;
    r.k("disjoint", ok);
    OK(cuMemFreeAsync(a, s));
    OK(cuMemFreeAsync(b, s));
    OK(cuStreamSynchronize(s));
  });
  add("pool.alloc_in_order_with_work", [](Rec& r) {
    // memory freed behind a gate is not given to another stream before the gate opens
    Pool q;
    Stream s(NB), t(NB);
    CUdeviceptr a = 0, b = 0;
    int no = 0;
    OK(cuMemPoolSetAttribute(q, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &no));
    OK(cuMemAllocFromPoolAsync(&a, 1 << 20, q, s));
    OK(cuStreamSynchronize(s));
    ValueGate v;
    v.arm(s);
    OK(cuMemFreeAsync(a, s));
    OK(cuMemAllocFromPoolAsync(&b, 1 << 20, q, t));
    r.k("different_memory", a != b);
    Cell c = new_cell();
    mark(t, c);
    r.k("t_not_held", late(c));
    v.open();
    OK(cuMemFreeAsync(b, t));
    OK(cuStreamSynchronize(s));
    OK(cuStreamSynchronize(t));
  });
}

}  // namespace weir::conformance
