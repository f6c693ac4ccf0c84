// SPDX-License-Identifier: Apache-2.0
// cases/memory/vmm_create.cpp - allocations without addresses: valid properties, and the properties
// returned.
#include "cases/memory/ranges.hpp"

namespace weir::conformance {
namespace {

// Records the results of granularity and create for one set of properties.
void rec_props(Rec& r, const std::string& key, const CUmemAllocationProp& prop) {
  size_t least = 0, best = 0;
  CUmemGenericAllocationHandle h = 0;
  if (r.k(key + ".granularity",
          cuMemGetAllocationGranularity(&least, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM)) ==
      CUDA_SUCCESS) {
    r.k(key + ".least", least);
    OK(cuMemGetAllocationGranularity(&best, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    r.k(key + ".best", best);
  }
  if (r.k(key + ".create", cuMemCreate(&h, kGrain, &prop, 0)) == CUDA_SUCCESS)
    r.k(key + ".release", cuMemRelease(h));
}

void rec_create(Rec& r, const std::string& key, size_t size, unsigned long long flags = 0) {
  const CUmemAllocationProp prop = on_device();
  CUmemGenericAllocationHandle h = 0;
  if (r.k(key, cuMemCreate(&h, size, &prop, flags)) == CUDA_SUCCESS) OK(cuMemRelease(h));
}

size_t free_bytes() {
  size_t free = 0, total = 0;
  OK(cuMemGetInfo(&free, &total));
  return free;
}

}  // namespace

void vmm_create_cases() {
  add("vmm.granularity_errors", [](Rec& r) {
    const CUmemAllocationProp prop = on_device();
    size_t n = 0;
    r.k("null_out",
        cuMemGetAllocationGranularity(nullptr, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    r.k("null_prop", cuMemGetAllocationGranularity(&n, nullptr, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    r.k("option7",
        cuMemGetAllocationGranularity(&n, &prop, static_cast<CUmemAllocationGranularity_flags>(7)));
  });
  add("vmm.create_sizes", [](Rec& r) {
    const CUmemAllocationProp prop = on_device();
    CUmemGenericAllocationHandle h = 0;
    r.k("null_out", cuMemCreate(nullptr, kGrain, &prop, 0));
    r.k("null_prop", cuMemCreate(&h, kGrain, nullptr, 0));
    rec_create(r, "size0", 0);
    rec_create(r, "half", kGrain / 2);
    rec_create(r, "three", 3 * kGrain);
    rec_create(r, "flags1", kGrain, 1);
    rec_create(r, "60_bits", size_t{1} << 60);
    size_t total = 0;
    OK(cuDeviceTotalMem(&total, g.dev));
    rec_create(r, "beyond_device", (total / kGrain + 1) * kGrain);
  });
  add("vmm.create_types", [](Rec& r) {
    for (unsigned type : {0u, 2u, 3u}) {
      CUmemAllocationProp prop = on_device();
      prop.type = static_cast<CUmemAllocationType>(type);
      rec_props(r, "t" + std::to_string(type), prop);
    }
  });
  add("vmm.create_devices", [](Rec& r) {
    for (int id : {-1, 99}) {
      CUmemAllocationProp prop = on_device();
      prop.location.id = id;
      rec_props(r, id < 0 ? "negative" : "d99", prop);
    }
    CUmemAllocationProp prop = on_device();
    prop.location.type = CU_MEM_LOCATION_TYPE_INVALID;
    rec_props(r, "nowhere", prop);
    prop.location.type = static_cast<CUmemLocationType>(9);
    rec_props(r, "type9", prop);
  });
  add("vmm.create_host", [](Rec& r) {
    int host = 0, numa = 0;
    OK(cuDeviceGetAttribute(&host, CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                            g.dev));
    OK(cuDeviceGetAttribute(
        &numa, CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, g.dev));
    r.k("host_attribute", host);
    r.k("numa_attribute", numa);
    CUmemAllocationProp prop = on_device();
    prop.location = place(CU_MEM_LOCATION_TYPE_HOST);
    rec_props(r, "host", prop);
    prop.location = place(CU_MEM_LOCATION_TYPE_HOST, 5);
    rec_props(r, "host_id5", prop);
    prop.location = place(CU_MEM_LOCATION_TYPE_HOST_NUMA, 0);
    rec_props(r, "numa0", prop);
    prop.location = place(CU_MEM_LOCATION_TYPE_HOST_NUMA, 99);
    rec_props(r, "numa99", prop);
    prop.location = place(CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT);
    rec_props(r, "numa_current", prop);
  });
  add("vmm.create_shareable", [](Rec& r) {
    for (unsigned type : {1u, 2u, 3u, 4u, 16u})
      rec_props(r, "h" + std::to_string(type),
                on_device(static_cast<CUmemAllocationHandleType>(type)));
  });
  add("vmm.create_flags", [](Rec& r) {
    CUmemAllocationProp prop = on_device();
    prop.allocFlags.compressionType = 2;
    rec_props(r, "compression2", prop);
    prop = on_device();
    prop.allocFlags.gpuDirectRDMACapable = 1;
    rec_props(r, "rdma", prop);
    prop = on_device();
    prop.allocFlags.usage = 0x8000;
    rec_props(r, "usage_unknown", prop);
    prop = on_device();
    prop.allocFlags.reserved[3] = 1;
    rec_props(r, "reserved", prop);
    prop = on_device();
    prop.win32HandleMetaData = &prop;
    rec_props(r, "win32_meta", prop);
  });
  add("vmm.create_compressed", [](Rec& r) {
    int can = 0;
    OK(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, g.dev));
    r.k("attribute", can);
    CUmemAllocationProp prop = on_device(), said{};
    prop.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_GENERIC;
    rec_props(r, "generic", prop);
    CUmemGenericAllocationHandle h = 0;
    if (cuMemCreate(&h, kGrain, &prop, 0) != CUDA_SUCCESS) return;
    OK(cuMemGetAllocationPropertiesFromHandle(&said, h));
    r.k("~granted", static_cast<unsigned>(said.allocFlags.compressionType));
    OK(cuMemRelease(h));
  });
  add("vmm.properties", [](Rec& r) {
    Piece m(kGrain, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CUmemAllocationProp prop{};
    prop.win32HandleMetaData = &prop;
    prop.allocFlags.reserved[0] = 7;
    r.k("get", cuMemGetAllocationPropertiesFromHandle(&prop, m));
    r.k("type", static_cast<unsigned>(prop.type));
    r.k("handle_types", static_cast<unsigned>(prop.requestedHandleTypes));
    r.k("location_type", static_cast<unsigned>(prop.location.type));
    r.k("location_id", prop.location.id);
    r.k("win32_null", prop.win32HandleMetaData == nullptr);
    r.k("compression", static_cast<unsigned>(prop.allocFlags.compressionType));
    r.k("rdma", static_cast<unsigned>(prop.allocFlags.gpuDirectRDMACapable));
    r.k("usage", static_cast<unsigned>(prop.allocFlags.usage));
    r.k("reserved", static_cast<unsigned>(prop.allocFlags.reserved[0]));
    r.k("null_out", cuMemGetAllocationPropertiesFromHandle(nullptr, m));
    r.k("null_handle", cuMemGetAllocationPropertiesFromHandle(&prop, 0));
  });
  add("vmm.release_null", [](Rec& r) { r.k("null", cuMemRelease(0)); });
  add("vmm.release_twice", ISO, [](Rec& r) {
    Piece m;
    const CUmemGenericAllocationHandle h = m;
    CUmemAllocationProp prop{};
    r.k("once", m.release());
    r.k("~properties", cuMemGetAllocationPropertiesFromHandle(&prop, h));
    r.k("twice", cuMemRelease(h));
  });
  add("vmm.release_unknown", ISO, [](Rec& r) { r.k("res", cuMemRelease(0x1234)); });
  add("vmm.accounting", [](Rec& r) {
    OK(cuCtxSynchronize());
    const size_t bytes = 16 * kGrain, before = free_bytes();
    Range a(bytes);
    r.k("reserved_costs", before - free_bytes() >= bytes);
    Piece m(bytes);
    r.k("created_costs", before - free_bytes() >= bytes);
    OK(cuMemMap(a, bytes, 0, m, 0));
    OK(open_access(a, bytes));
    r.k("mapped_costs_twice", before - free_bytes() >= 2 * bytes);
    OK(m.release());
    r.k("released_while_mapped_costs", before - free_bytes() >= bytes);
    OK(cuMemUnmap(a, bytes));
    r.k("unmapped_costs", before - free_bytes() >= bytes);
  });
}

}  // namespace weir::conformance
