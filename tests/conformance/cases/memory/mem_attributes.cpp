// SPDX-License-Identifier: Apache-2.0
// cases/memory/mem_attributes.cpp - pointer attributes; which calls synchronize implicitly.
#include "probe/probe.hpp"

#include <utility>

namespace weir::conformance {

void mem_attributes_cases() {
  add("mem.pointer_attributes", [](Rec& r) {
    DevMem d(4096);
    const std::pair<const char*, CUdeviceptr> ps[] = {
        {"device", d.p},
        {"device_inner", d.p + 100},
        {"pinned", reinterpret_cast<CUdeviceptr>(g.pin)},
        {"pageable", reinterpret_cast<CUdeviceptr>(g.page)},
        {"null", 0},
        {"garbage", 0x1234}};
    for (auto& [n, p] : ps) {
      std::string k = n;
      unsigned ty = 0, mg = 9, mapped = 9, ipc = 9;
      int ord = -9;
      CUcontext c = nullptr;
      void* hp = nullptr;
      CUdeviceptr dp = 0, start = 0;
      size_t size = 0;
      unsigned long long id = 0;
      CUmemoryPool pool = reinterpret_cast<CUmemoryPool>(1);
      CUresult e =
          r.k(k + ".type", cuPointerGetAttribute(&ty, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
      if (e == CUDA_SUCCESS) r.k(k + ".type_value", ty);
      e = r.k(k + ".context", cuPointerGetAttribute(&c, CU_POINTER_ATTRIBUTE_CONTEXT, p));
      if (e == CUDA_SUCCESS) r.k(k + ".context_current", c == g.ctx);
      e = r.k(k + ".managed", cuPointerGetAttribute(&mg, CU_POINTER_ATTRIBUTE_IS_MANAGED, p));
      if (e == CUDA_SUCCESS) r.k(k + ".managed_value", mg & 0xff);
      e = r.k(k + ".ordinal", cuPointerGetAttribute(&ord, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p));
      if (e == CUDA_SUCCESS) r.k(k + ".ordinal_value", ord);
      e = r.k(k + ".host", cuPointerGetAttribute(&hp, CU_POINTER_ATTRIBUTE_HOST_POINTER, p));
      if (e == CUDA_SUCCESS) r.k(k + ".host_same", hp == reinterpret_cast<void*>(p));
      e = r.k(k + ".devptr", cuPointerGetAttribute(&dp, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p));
      if (e == CUDA_SUCCESS) r.k(k + ".devptr_same", dp == p);
      e = r.k(k + ".start",
              cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, p));
      if (e == CUDA_SUCCESS) r.k(k + ".start_offset", static_cast<unsigned long long>(p - start));
      e = r.k(k + ".size", cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, p));
      if (e == CUDA_SUCCESS) r.k(k + ".size_value", size);
      e = r.k(k + ".mapped", cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, p));
      if (e == CUDA_SUCCESS) r.k(k + ".mapped_value", mapped & 0xff);
      r.k(k + ".buffer_id", cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, p));
      e = r.k(k + ".ipc",
              cuPointerGetAttribute(&ipc, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, p));
      if (e == CUDA_SUCCESS) r.k(k + ".ipc_value", ipc & 0xff);
      e = r.k(k + ".pool", cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p));
      if (e == CUDA_SUCCESS) r.k(k + ".pool_null", pool == nullptr);
    }
    unsigned v = 0;
    r.k("bad_attr", cuPointerGetAttribute(&v, static_cast<CUpointer_attribute>(999), d));
    r.k("attr0", cuPointerGetAttribute(&v, static_cast<CUpointer_attribute>(0), d));
  });
  add("mem.pointer_attributes_many", [](Rec& r) {
    DevMem d(64);
    unsigned ty = 77;
    CUcontext c = reinterpret_cast<CUcontext>(1);
    unsigned mg = 77;
    CUpointer_attribute at[3] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_CONTEXT,
                                 CU_POINTER_ATTRIBUTE_IS_MANAGED};
    void* out[3] = {&ty, &c, &mg};
    r.k("device", cuPointerGetAttributes(3, at, out, d));
    r.k("type", ty);
    r.k("context_current", c == g.ctx);
    ty = 77;
    c = reinterpret_cast<CUcontext>(1);
    r.k("pageable", cuPointerGetAttributes(3, at, out, reinterpret_cast<CUdeviceptr>(g.page)));
    r.k("pageable_type", ty);
    r.k("pageable_context_null", c == nullptr);
    r.k("null_pointer", cuPointerGetAttributes(3, at, out, 0));
    r.k("count0", cuPointerGetAttributes(0, at, out, d));
    r.k("null_attrs", cuPointerGetAttributes(1, nullptr, out, d));
  });
  add("mem.buffer_ids", [](Rec& r) {
    unsigned long long a = 0, b = 0, c = 0;
    CUdeviceptr p1 = 0;
    OK(cuMemAlloc(&p1, 64));
    DevMem d2(64);
    OK(cuPointerGetAttribute(&a, CU_POINTER_ATTRIBUTE_BUFFER_ID, p1));
    OK(cuPointerGetAttribute(&b, CU_POINTER_ATTRIBUTE_BUFFER_ID, d2));
    r.k("differ", a != b);
    OK(cuMemFree(p1));
    DevMem d3(64);
    OK(cuPointerGetAttribute(&c, CU_POINTER_ATTRIBUTE_BUFFER_ID, d3));
    r.k("not_reused", c != a);
  });
  add("mem.sync_memops", [](Rec& r) {
    DevMem a(4096), b(4096);
    unsigned v = 9;
    r.k("get", cuPointerGetAttribute(&v, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a));
    r.k("default", v & 0xff);
    unsigned one = 1;
    r.k("set", cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a));
    v = 9;
    OK(cuPointerGetAttribute(&v, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a));
    r.k("now", v & 0xff);
    r.k("set_other_attr", cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_IS_MANAGED, a));
    r.k("set_pageable", cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
                                              reinterpret_cast<CUdeviceptr>(g.page)));
    Stream s(BL);
    ValueGate g1;
    g1.arm(s);
    record_blocking(r, "dtod_with_sync_memops",
                    blocking([&] { g1.open(); }, [&] { return cuMemcpyDtoD(a, b, 64); }));
    g1.open();
    OK(cuCtxSynchronize());
  });
  add("mem.implicit_sync", [](Rec& r) {
    struct {
      const char* n;
      unsigned flags;
    } ss[] = {{"blocking", BL}, {"nonblocking", NB}};
    for (auto& x : ss) {
      Stream s(x.flags);
      CUdeviceptr p = 0, q = 0;
      void* h = nullptr;
      void* h2 = nullptr;
      OK(cuMemAlloc(&p, 4096));
      OK(cuMemHostAlloc(&h, 4096, 0));
      std::string k = x.n;
      {
        ValueGate v;
        v.arm(s);
        record_blocking(r, "~" + k + ".mem_alloc",
                        blocking([&] { v.open(); }, [&] { return cuMemAlloc(&q, 4096); }));
        v.open();
        OK(cuStreamSynchronize(s));
      }
      {
        ValueGate v;
        v.arm(s);
        record_blocking(r, "~" + k + ".mem_free",
                        blocking([&] { v.open(); }, [&] { return cuMemFree(p); }));
        v.open();
        OK(cuStreamSynchronize(s));
      }
      {
        ValueGate v;
        v.arm(s);
        record_blocking(r, "~" + k + ".host_alloc",
                        blocking([&] { v.open(); }, [&] { return cuMemHostAlloc(&h2, 4096, 0); }));
        v.open();
        OK(cuStreamSynchronize(s));
      }
      {
        ValueGate v;
        v.arm(s);
        record_blocking(r, "~" + k + ".free_host",
                        blocking([&] { v.open(); }, [&] { return cuMemFreeHost(h); }));
        v.open();
        OK(cuStreamSynchronize(s));
      }
      cuMemFree(q);
      cuMemFreeHost(h2);
    }
  });
  add("mem.managed_while_busy", [](Rec& r) {
    Stream s(NB);
    CUdeviceptr m = 0;
    ValueGate v;
    v.arm(s);
    record_blocking(r, "~alloc_managed",
                    blocking([&] { v.open(); },
                             [&] { return cuMemAllocManaged(&m, 4096, CU_MEM_ATTACH_GLOBAL); }));
    v.open();
    OK(cuStreamSynchronize(s));
    if (m) {
      *reinterpret_cast<volatile uint32_t*>(m) = 1;
      r.k("host_access", *reinterpret_cast<volatile uint32_t*>(m));
      cuMemFree(m);
    }
  });
}

}  // namespace weir::conformance
