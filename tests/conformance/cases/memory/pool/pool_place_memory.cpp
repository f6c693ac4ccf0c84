// SPDX-License-Identifier: Apache-2.0
// cases/memory/pool/pool_place_memory.cpp - memory of managed and host pools: its kind, and who can
// access it.
#include "cases/memory/managed_memory.hpp"
#include "cases/memory/pool/placed_pools.hpp"
#include "cases/memory/ranges.hpp"

#include <cstring>
#include <string>
#include <utility>

namespace weir::conformance {
namespace {

// Records the attributes of a pool's block, and whether host and device can access it.
void rec_block(Rec& r, CUmemoryPool q) {
  Stream s(NB);
  CUdeviceptr p = 0;
  r.k("alloc", cuMemAllocFromPoolAsync(&p, kBytes, q, s));
  if (!p) return;
  static constexpr std::pair<const char*, CUpointer_attribute> kNumbers[] = {
      {"memory_type", CU_POINTER_ATTRIBUTE_MEMORY_TYPE},
      {"is_managed", CU_POINTER_ATTRIBUTE_IS_MANAGED},
      {"ordinal", CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL},
      {"legacy_ipc", CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE},
      {"handle_types", CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES},
      {"mapped", CU_POINTER_ATTRIBUTE_MAPPED},
      {"access", CU_POINTER_ATTRIBUTE_ACCESS_FLAGS},
      {"sync_memops", CU_POINTER_ATTRIBUTE_SYNC_MEMOPS}};
  for (auto& [name, attribute] : kNumbers) {
    unsigned long long value = 0;
    const CUresult res = cuPointerGetAttribute(&value, attribute, p);
    r.k(name, res);
    if (res == CUDA_SUCCESS)
      r.k(std::string(name) + ".is", static_cast<long long>(value & 0xffffffffu));
  }
  void* host = nullptr;
  CUdeviceptr device = 0;
  CUmemoryPool of = nullptr;
  CUcontext context = nullptr;
  r.k("host_pointer", cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, p));
  r.k("host_pointer.same", reinterpret_cast<CUdeviceptr>(host) == p);
  r.k("device_pointer", cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p));
  r.k("device_pointer.same", device == p);
  r.k("pool", cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p));
  r.k("pool.same", of == q);
  r.k("context", cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, p));
  r.k("context.one", context != nullptr);
  OK(cuMemsetD32Async(p, 0x01020304, kBytes / 4, s));
  unsigned word = 0;
  OK(cuMemcpyDtoHAsync(&word, p + kBytes - 4, sizeof word, s));
  OK(cuStreamSynchronize(s));
  r.k("word", word == 0x01020304u);
  r.k("free", cuMemFreeAsync(p, s));
  r.k("then", cuStreamSynchronize(s));
}

}  // namespace

void pool_place_memory_cases() {
  const auto of_standing = [](CUmemLocationType where, CUmemAllocationType type) {
    return [where, type](Rec& r) {
      CUmemLocation at{where, 0};
      CUmemoryPool q = nullptr;
      r.k("get", cuMemGetMemPool(&q, &at, type));
      if (q) rec_block(r, q);
    };
  };
  const auto of_new = [](CUmemLocationType where, CUmemAllocationType type) {
    return [where, type](Rec& r) {
      CUresult res;
      const CUmemoryPool q = make_at({where, 0}, type, res);
      r.k("create", res);
      if (!q) return;
      rec_block(r, q);
      cuMemPoolDestroy(q);
    };
  };
  add("pool.block_of_host", of_standing(CU_MEM_LOCATION_TYPE_HOST, kPinned));
  add("pool.block_of_managed", of_standing(static_cast<CUmemLocationType>(0), kManaged));
  add("pool.block_of_new_host", of_new(CU_MEM_LOCATION_TYPE_HOST, kPinned));
  add("pool.block_of_new_numa", of_new(CU_MEM_LOCATION_TYPE_HOST_NUMA, kPinned));
  add("pool.block_of_new_managed_device", of_new(CU_MEM_LOCATION_TYPE_DEVICE, kManaged));
  add("pool.block_of_new_managed_host", of_new(CU_MEM_LOCATION_TYPE_HOST, kManaged));
  for (const char* direction : {"from", "to"}) {
    const bool from = direction == std::string("from");
    add(std::string("pool.host_block_copies_") + direction, ISO, [from](Rec& r) {
      // A host pool whose memory the device has no access to.
      CUresult res;
      const CUmemoryPool q = make_at({CU_MEM_LOCATION_TYPE_HOST, 0}, kPinned, res);
      OK(res);
      Stream s(NB);
      CUdeviceptr p = 0;
      OK(cuMemAllocFromPoolAsync(&p, kBytes, q, s));
      OK(cuStreamSynchronize(s));
      memset(reinterpret_cast<void*>(p), 3, kBytes);
      OK(cuMemsetD8(g.dbuf, 4, 16));
      OK(cuCtxSynchronize());
      void* const host = reinterpret_cast<void*>(p);
      const auto rec = [&](const std::string& key, CUresult call) {
        if (r.k(key, call) != CUDA_SUCCESS) return;
        if (r.k(key + ".sync", cuCtxSynchronize()) != CUDA_SUCCESS) throw Abort{key};
      };
      const CUdeviceptr pinned = reinterpret_cast<CUdeviceptr>(g.pin),
                        pageable = reinterpret_cast<CUdeviceptr>(g.page);
      if (from) {
        rec("htod", cuMemcpyHtoD(g.dbuf, host, 16));
        rec("htod_async", cuMemcpyHtoDAsync(g.dbuf, host, 16, s));
        rec("unified", cuMemcpy(g.dbuf, p, 16));
        rec("unified_async", cuMemcpyAsync(g.dbuf, p, 16, s));
        rec("to_pinned", cuMemcpy(pinned, p, 16));
        rec("to_pageable", cuMemcpy(pageable, p, 16));
        rec("dtoh", cuMemcpyDtoH(g.page, p, 16));
        rec("dtod", cuMemcpyDtoD(g.dbuf, p, 16));
      } else {
        rec("dtoh", cuMemcpyDtoH(host, g.dbuf, 16));
        rec("dtoh_async", cuMemcpyDtoHAsync(host, g.dbuf, 16, s));
        rec("unified", cuMemcpy(p, g.dbuf, 16));
        rec("unified_async", cuMemcpyAsync(p, g.dbuf, 16, s));
        rec("from_pinned", cuMemcpy(p, pinned, 16));
        rec("from_pageable", cuMemcpy(p, pageable, 16));
        rec("htod", cuMemcpyHtoD(p, g.page, 16));
        rec("dtod", cuMemcpyDtoD(p, g.dbuf, 16));
        rec("memset", cuMemsetD8(p, 5, 16));
      }
      r.k("free", cuMemFreeAsync(p, s));
      OK(cuStreamSynchronize(s));
      cuMemPoolDestroy(q);
    });
  }
  add("pool.managed_block_from_the_host", [](Rec& r) {
    CUresult res;
    const CUmemoryPool q = make_at({CU_MEM_LOCATION_TYPE_DEVICE, 0}, kManaged, res);
    r.k("create", res);
    if (!q) return;
    Stream s(NB);
    CUdeviceptr p = 0;
    OK(cuMemAllocFromPoolAsync(&p, kBytes, q, s));
    OK(cuMemsetD8Async(p, 5, kBytes, s));
    OK(cuStreamSynchronize(s));
    r.k("advise", cuMemAdvise(p, kBytes, CU_MEM_ADVISE_SET_READ_MOSTLY,
                              place(CU_MEM_LOCATION_TYPE_DEVICE, 0)));
    r.k("prefetch", cuMemPrefetchAsync(p, kBytes, place(CU_MEM_LOCATION_TYPE_HOST, 0), 0, s));
    OK(cuStreamSynchronize(s));
    r.k("seen", *reinterpret_cast<const unsigned char*>(p) == 5);
    cuMemFreeAsync(p, s);
    cuMemPoolDestroy(q);
  });
  add("pool.managed_block_ranges", [](Rec& r) {
    CUresult res;
    const CUmemoryPool q = make_at({static_cast<CUmemLocationType>(0), 0}, kManaged, res);
    r.k("create", res);
    if (!q) return;
    Stream s(NB);
    CUdeviceptr p = 0;
    OK(cuMemAllocFromPoolAsync(&p, kBytes, q, s));
    OK(cuStreamSynchronize(s));
    rec_range(r, "at_first", p, kBytes);
    r.k("to_device", cuMemPrefetchAsync(p, kBytes, place(CU_MEM_LOCATION_TYPE_DEVICE, 0), 0, s));
    OK(cuStreamSynchronize(s));
    rec_range(r, "on_device", p, kBytes);
    r.k("to_host", cuMemPrefetchAsync(p, kBytes, place(CU_MEM_LOCATION_TYPE_HOST), 0, s));
    OK(cuStreamSynchronize(s));
    rec_range(r, "on_host", p, kBytes);
    for (const auto& [name, advice] :
         {std::pair<const char*, CUmem_advise>{"read_mostly", CU_MEM_ADVISE_SET_READ_MOSTLY},
          {"preferred", CU_MEM_ADVISE_SET_PREFERRED_LOCATION},
          {"accessed_by", CU_MEM_ADVISE_SET_ACCESSED_BY}}) {
      r.k(name, cuMemAdvise(p, kBytes, advice, place(CU_MEM_LOCATION_TYPE_DEVICE, 0)));
    }
    rec_range(r, "advised", p, kBytes);
    cuMemFreeAsync(p, s);
    OK(cuStreamSynchronize(s));
    cuMemPoolDestroy(q);
  });
}

}  // namespace weir::conformance
