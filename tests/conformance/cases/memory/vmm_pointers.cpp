// SPDX-License-Identifier: Apache-2.0
// cases/memory/vmm_pointers.cpp - attributes of addresses that are reserved or mapped.
#include "cases/memory/ranges.hpp"

namespace weir::conformance {
namespace {

template <class T>
bool rec_one(Rec& r, const std::string& key, CUpointer_attribute attribute, CUdeviceptr p,
             T& value) {
  return r.k(key, cuPointerGetAttribute(&value, attribute, p)) == CUDA_SUCCESS;
}

// Records the owner and kind of an address.
void rec_kind(Rec& r, const std::string& key, CUdeviceptr p) {
  unsigned type = 9, managed = 9, mapped = 9, sync = 9;
  int ordinal = -9;
  CUcontext context = nullptr;
  void* host = nullptr;
  CUdeviceptr device = 0;
  if (rec_one(r, key + ".type", CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p, type))
    r.k(key + ".type_value", type);
  if (rec_one(r, key + ".context", CU_POINTER_ATTRIBUTE_CONTEXT, p, context))
    r.k(key + ".context_kind", !context ? "null" : context == g.ctx ? "current" : "other");
  if (rec_one(r, key + ".ordinal", CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p, ordinal))
    r.k(key + ".ordinal_value", ordinal);
  if (rec_one(r, key + ".managed", CU_POINTER_ATTRIBUTE_IS_MANAGED, p, managed))
    r.k(key + ".managed_value", managed & 0xff);
  if (rec_one(r, key + ".mapped", CU_POINTER_ATTRIBUTE_MAPPED, p, mapped))
    r.k(key + ".mapped_value", mapped & 0xff);
  if (rec_one(r, key + ".sync_memops", CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p, sync))
    r.k(key + ".sync_memops_value", sync & 0xff);
  rec_one(r, key + ".host", CU_POINTER_ATTRIBUTE_HOST_POINTER, p, host);
  if (rec_one(r, key + ".device", CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p, device))
    r.k(key + ".device_same", device == p);
}

// Records the start and length of the range and the mapping around the address.
void rec_extent(Rec& r, const std::string& key, CUdeviceptr p) {
  CUdeviceptr start = 0;
  size_t size = 0;
  auto offset = [p](CUdeviceptr from) { return static_cast<unsigned long long>(p - from); };
  if (rec_one(r, key + ".start", CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, p, start))
    r.k(key + ".start_offset", offset(start));
  if (rec_one(r, key + ".size", CU_POINTER_ATTRIBUTE_RANGE_SIZE, p, size))
    r.k(key + ".size_value", size);
  if (rec_one(r, key + ".mapping_start", CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, p, start))
    r.k(key + ".mapping_offset", offset(start));
  if (rec_one(r, key + ".mapping_size", CU_POINTER_ATTRIBUTE_MAPPING_SIZE, p, size))
    r.k(key + ".mapping_size_value", size);
  start = 0;
  size = 0;
  if (r.k(key + ".address_range", cuMemGetAddressRange(&start, &size, p)) == CUDA_SUCCESS) {
    r.k(key + ".base_offset", offset(start));
    r.k(key + ".base_size", size);
  }
}

// Records what may be done with the memory there.
void rec_abilities(Rec& r, const std::string& key, CUdeviceptr p) {
  unsigned ipc = 9, rdma = 9, access = 9, decompress = 9;
  unsigned long long handles = 99, buffer = 0, block = 0;
  CUmemoryPool pool = reinterpret_cast<CUmemoryPool>(1);
  if (rec_one(r, key + ".ipc", CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, p, ipc))
    r.k(key + ".ipc_value", ipc & 0xff);
  if (rec_one(r, key + ".handles", CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, p, handles))
    r.k(key + ".handles_value", handles);
  if (rec_one(r, key + ".rdma", CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, p, rdma))
    r.k(key + ".rdma_value", rdma & 0xff);
  if (rec_one(r, key + ".access", CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, p, access))
    r.k(key + ".access_value", access);
  if (rec_one(r, key + ".pool", CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p, pool))
    r.k(key + ".pool_null", !pool);
  rec_one(r, key + ".buffer_id", CU_POINTER_ATTRIBUTE_BUFFER_ID, p, buffer);
  rec_one(r, key + ".block_id", CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, p, block);
  if (rec_one(r, key + ".decompress", CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE, p, decompress))
    r.k(key + ".decompress_value", decompress & 0xff);
}

void rec_mapping(Rec& r, const std::string& key, CUdeviceptr p) {
  rec_kind(r, key, p);
  rec_extent(r, key, p);
  rec_abilities(r, key, p);
}

}  // namespace

void vmm_pointers_cases() {
  add("vmm.pointer_mapped", [](Rec& r) {
    Mapped a(kGrain, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    rec_mapping(r, "first", a);
    rec_mapping(r, "inner", a + 100);
  });
  add("vmm.pointer_reserved", [](Rec& r) {
    Range a;
    rec_mapping(r, "reserved", a);
  });
  add("vmm.pointer_without_access", [](Rec& r) {
    Range a;
    Piece m;
    OK(cuMemMap(a, kGrain, 0, m, 0));
    rec_mapping(r, "mapped", a);
    OK(open_access(a, kGrain, CU_MEM_ACCESS_FLAGS_PROT_READ));
    unsigned access = 9;
    r.k("read_only", cuPointerGetAttribute(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, a));
    r.k("read_only_value", access);
  });
  add("vmm.pointer_two_pieces", [](Rec& r) {
    Range a(4 * kGrain);
    Piece m, n(2 * kGrain);
    OK(cuMemMap(a, kGrain, 0, m, 0));
    OK(cuMemMap(a + kGrain, 2 * kGrain, 0, n, 0));
    OK(open_access(a, 3 * kGrain));
    rec_extent(r, "front", a + 5);
    rec_extent(r, "back", a + 2 * kGrain);
    rec_extent(r, "hole", a + 3 * kGrain);
    unsigned long long one = 0, two = 0;
    OK(cuPointerGetAttribute(&one, CU_POINTER_ATTRIBUTE_BUFFER_ID, a));
    OK(cuPointerGetAttribute(&two, CU_POINTER_ATTRIBUTE_BUFFER_ID, a + kGrain));
    r.k("buffer_ids_differ", one != two);
  });
  add("vmm.pointer_set", [](Rec& r) {
    Mapped a;
    unsigned one = 1, got = 9;
    r.k("sync_memops", cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a));
    r.k("get", cuPointerGetAttribute(&got, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a));
    r.k("value", got & 0xff);
  });
  add("mem.pointer_abilities", [](Rec& r) {
    DevMem d(4096);
    rec_extent(r, "device", d + 100);
    rec_abilities(r, "device", d);
    rec_extent(r, "pinned", reinterpret_cast<CUdeviceptr>(g.pin) + 100);
    rec_abilities(r, "pinned", reinterpret_cast<CUdeviceptr>(g.pin));
    rec_abilities(r, "pageable", reinterpret_cast<CUdeviceptr>(g.page));
  });
  add("mem.pointer_managed", [](Rec& r) {
    CUdeviceptr p = 0;
    OK(cuMemAllocManaged(&p, 4096, CU_MEM_ATTACH_GLOBAL));
    rec_mapping(r, "managed", p);
    cuMemFree(p);
  });
  add("mem.pointer_registered", [](Rec& r) {
    alignas(4096) static unsigned char page[8192];
    OK(cuMemHostRegister(page + 100, 5000, CU_MEMHOSTREGISTER_PORTABLE));
    const CUdeviceptr p = reinterpret_cast<CUdeviceptr>(page);
    rec_mapping(r, "first", p + 100);
    rec_mapping(r, "inner", p + 200);
    rec_extent(r, "before", p);
    rec_extent(r, "after", p + 5100);
    OK(cuMemHostUnregister(page + 100));
    rec_extent(r, "unregistered", p + 100);
  });
  add("mem.pointer_pool", [](Rec& r) {
    CUdeviceptr p = 0;
    Stream s(NB);
    OK(cuMemAllocAsync(&p, 5000, s));
    OK(cuStreamSynchronize(s));
    rec_extent(r, "pool", p + 100);
    rec_abilities(r, "pool", p);
    OK(cuMemFreeAsync(p, s));
    OK(cuStreamSynchronize(s));
    rec_extent(r, "freed", p);
  });
  add("mem.address_range_more", [](Rec& r) {
    CUdeviceptr p = 0, base = 0;
    size_t pitch = 0, size = 0;
    OK(cuMemAllocPitch(&p, &pitch, 100, 10, 4));
    r.k("pitched", cuMemGetAddressRange(&base, &size, p + pitch));
    r.k("pitched_base", base == p);
    r.k("pitched_size", size);
    OK(cuMemFree(p));
    r.k("freed", cuMemGetAddressRange(&base, &size, p));
    DevMem d(1000);
    r.k("last", cuMemGetAddressRange(&base, &size, d + 999));
    r.k("end", cuMemGetAddressRange(&base, &size, d + 1000));
    void* combined = nullptr;
    OK(cuMemHostAlloc(&combined, 5000, CU_MEMHOSTALLOC_WRITECOMBINED | CU_MEMHOSTALLOC_PORTABLE));
    r.k("combined",
        cuMemGetAddressRange(&base, &size, reinterpret_cast<CUdeviceptr>(combined) + 1));
    r.k("combined_size", size);
    OK(cuMemFreeHost(combined));
  });
}

}  // namespace weir::conformance
