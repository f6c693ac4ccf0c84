// SPDX-License-Identifier: Apache-2.0
// cases/memory/mem_register.cpp - registered and managed memory.
#include "probe/probe.hpp"

namespace weir::conformance {

void mem_register_cases() {
  add("mem.register", [](Rec& r) {
    alignas(4096) static unsigned char pg[8][4096];
    CUdeviceptr d = 0;
    unsigned f = 99;
    for (unsigned fl : {0u, 1u, 2u, 3u, 8u}) {
      std::string k = "f" + std::to_string(fl);
      CUresult e = r.k(k, cuMemHostRegister(pg[0], 4096, fl));
      if (e == CUDA_SUCCESS) {
        r.k(k + ".get", cuMemHostGetFlags(&f, pg[0]));
        r.k(k + ".flags", f);
        r.k(k + ".devptr", cuMemHostGetDevicePointer(&d, pg[0], 0));
        r.k(k + ".devptr_same", d == reinterpret_cast<CUdeviceptr>(pg[0]));
        r.k(k + ".unregister", cuMemHostUnregister(pg[0]));
      }
    }
    for (unsigned fl : {0x10u, 0x20u, 0x80000000u})
      r.k("f" + std::to_string(fl), cuMemHostRegister(pg[0], 4096, fl));
    r.k("size0", cuMemHostRegister(pg[0], 0, 0));
    OK(cuMemHostRegister(pg[0], 4096, 0));
    r.k("twice", cuMemHostRegister(pg[0], 4096, 0));
    r.k("twice_smaller", cuMemHostRegister(pg[0], 2048, 0));
    r.k("overlapping", cuMemHostRegister(pg[0], 8192, 0));
    r.k("inner", cuMemHostRegister(pg[0] + 64, 64, 0));
    r.k("unregister_inner", cuMemHostUnregister(pg[0] + 64));
    r.k("free_host_of_registered", cuMemFreeHost(pg[0]));
    r.k("unregister", cuMemHostUnregister(pg[0]));
    r.k("unregister_again", cuMemHostUnregister(pg[0]));
    r.k("unregister_never", cuMemHostUnregister(pg[4]));
    CUresult u = r.k("unaligned", cuMemHostRegister(pg[2] + 100, 100, 0));
    if (u == CUDA_SUCCESS) r.k("unaligned_unregister", cuMemHostUnregister(pg[2] + 100));
    r.k("pinned_by_cuda", cuMemHostRegister(g.pin, 4096, 0));
    r.k("device_memory", cuMemHostRegister(reinterpret_cast<void*>(g.dbuf), 4096, 0));
    r.k("unregister_host_alloc", cuMemHostUnregister(g.pin));
  });
  add("mem.register_bad_address", [](Rec& r) {
    r.k("unmapped", cuMemHostRegister(reinterpret_cast<void*>(0x10000), 4096, 0));
  });
  add("mem.register_copy", [](Rec& r) {
    alignas(4096) static unsigned char pg[4096];
    OK(cuMemHostRegister(pg, 4096, 0));
    pg[0] = 61;
    Stream s(NB);
    OK(cuMemcpyHtoDAsync(g.dbuf, pg, 4, s));
    OK(cuMemcpyDtoHAsync(pg + 64, g.dbuf, 4, s));
    OK(cuStreamSynchronize(s));
    r.k("value", pg[64]);
    r.k("unregister", cuMemHostUnregister(pg));
    r.k("content_kept", pg[64]);
  });
  add("mem.managed", [](Rec& r) {
    for (unsigned f : {0u, 1u, 2u, 3u, 4u, 8u}) {
      CUdeviceptr p = 0;
      r.k("f" + std::to_string(f), cuMemAllocManaged(&p, 4096, f));
      if (p) cuMemFree(p);
    }
    CUdeviceptr p = 0;
    r.k("size0", cuMemAllocManaged(&p, 0, 1));
    OK(cuMemAllocManaged(&p, 4096, CU_MEM_ATTACH_GLOBAL));
    auto* w = reinterpret_cast<uint32_t*>(p);
    w[0] = 71;
    OK(cuMemcpyDtoD(g.dbuf, p, 4));
    uint32_t v = 0;
    OK(cuMemcpyDtoH(&v, g.dbuf, 4));
    r.k("host_write_seen", v);
    OK(cuMemsetD32(p, 72, 1));
    OK(cuCtxSynchronize());
    r.k("device_write_seen", w[0]);
    unsigned ty = 0, mg = 0;
    r.k("type", cuPointerGetAttribute(&ty, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
    r.k("type_value", ty);
    r.k("is_managed", cuPointerGetAttribute(&mg, CU_POINTER_ATTRIBUTE_IS_MANAGED, p));
    r.k("is_managed_value", mg & 1);
    void* hp = nullptr;
    r.k("host_pointer", cuPointerGetAttribute(&hp, CU_POINTER_ATTRIBUTE_HOST_POINTER, p));
    r.k("host_pointer_same", hp == reinterpret_cast<void*>(p));
    unsigned hf_ = 0;
    r.k("host_get_flags", cuMemHostGetFlags(&hf_, reinterpret_cast<void*>(p)));
    r.k("free", cuMemFree(p));
  });
  add("mem.prefetch_advise", [](Rec& r) {
    CUdeviceptr p = 0;
    OK(cuMemAllocManaged(&p, 1 << 20, CU_MEM_ATTACH_GLOBAL));
    {
      Stream s(NB);
      CUmemLocation dev{}, host{}, bad{};
      dev.type = CU_MEM_LOCATION_TYPE_DEVICE;
      dev.id = g.dev;
      host.type = CU_MEM_LOCATION_TYPE_HOST;
      bad.type = CU_MEM_LOCATION_TYPE_DEVICE;
      bad.id = 99;
      r.k("to_device", cuMemPrefetchAsync(p, 1 << 20, dev, 0, s));
      r.k("to_host", cuMemPrefetchAsync(p, 1 << 20, host, 0, s));
      r.k("bad_device", cuMemPrefetchAsync(p, 1 << 20, bad, 0, s));
      r.k("flags1", cuMemPrefetchAsync(p, 1 << 20, dev, 1, s));
      r.k("size0", cuMemPrefetchAsync(p, 0, dev, 0, s));
      r.k("device_memory", cuMemPrefetchAsync(g.dbuf, 4096, dev, 0, s));
      r.k("too_long", cuMemPrefetchAsync(p, 8 << 20, dev, 0, s));
      r.k("advise_read_mostly", cuMemAdvise(p, 1 << 20, CU_MEM_ADVISE_SET_READ_MOSTLY, dev));
      r.k("advise_preferred", cuMemAdvise(p, 1 << 20, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, dev));
      r.k("advise_bad", cuMemAdvise(p, 1 << 20, static_cast<CUmem_advise>(77), dev));
      r.k("advise_device_memory", cuMemAdvise(g.dbuf, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, dev));
      r.k("sync", cuStreamSynchronize(s));
    }
    cuMemFree(p);
  });
}

}  // namespace weir::conformance
