// SPDX-License-Identifier: Apache-2.0
// cases/memory/pool/pool_place_settings.cpp - attributes and access of managed and host pools.
#include "cases/memory/pool/placed_pools.hpp"

#include <string>
#include <utility>

namespace weir::conformance {

void pool_place_settings_cases() {
  const auto attributes = [](Rec& r, CUmemoryPool q) {
    static constexpr std::pair<const char*, CUmemPool_attribute> kPolicies[] = {
        {"follow", CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES},
        {"opportunistic", CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC},
        {"internal", CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES}};
    for (auto& [name, attribute] : kPolicies) {
      int value = 7;
      r.k(name, cuMemPoolGetAttribute(q, attribute, &value));
      r.k(std::string(name) + ".is", value);
    }
    r.k("threshold", static_cast<long long>(pool_u64(q, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)));
    cuuint64_t keep = 1 << 20;
    r.k("set_threshold", cuMemPoolSetAttribute(q, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    Stream s(NB);
    CUdeviceptr p = 0;
    r.k("alloc", cuMemAllocFromPoolAsync(&p, kBytes, q, s));
    r.k("used", pool_u64(q, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) >= kBytes);
    r.k("reserved", pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= kBytes);
    if (p) OK(cuMemFreeAsync(p, s));
    OK(cuStreamSynchronize(s));
    r.k("used_after", static_cast<long long>(pool_u64(q, CU_MEMPOOL_ATTR_USED_MEM_CURRENT)));
  };
  const auto access = [](Rec& r, CUmemoryPool q) {
    static constexpr std::pair<const char*, CUmemLocation> kWho[] = {
        {"device", {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
        {"device_99", {CU_MEM_LOCATION_TYPE_DEVICE, 99}},
        {"host", {CU_MEM_LOCATION_TYPE_HOST, 0}},
        {"numa", {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}},
        {"none", {static_cast<CUmemLocationType>(0), 0}}};
    for (const auto& named : kWho) {
      const std::string n = named.first;
      const CUmemLocation who = named.second;
      const auto get = [&](const std::string& when) {
        CUmemAccess_flags f = CU_MEM_ACCESS_FLAGS_PROT_NONE;
        CUmemLocation at = who;
        const CUresult res = cuMemPoolGetAccess(&f, q, &at);
        r.k(n + when, res);
        if (res == CUDA_SUCCESS) r.k(n + when + ".is", static_cast<int>(f));
      };
      get("");
      for (const auto& [flag, value] :
           {std::pair<const char*, CUmemAccess_flags>{".rw", CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
            {".read", CU_MEM_ACCESS_FLAGS_PROT_READ},
            {".take", CU_MEM_ACCESS_FLAGS_PROT_NONE}}) {
        const CUmemAccessDesc d{who, value};
        r.k(n + flag, cuMemPoolSetAccess(q, &d, 1));
        get(std::string(flag) + ".then");
      }
    }
  };
  const auto of_new = [](CUmemLocationType where, CUmemAllocationType type, auto look) {
    return [where, type, look](Rec& r) {
      CUresult res;
      const CUmemoryPool q = make_at({where, 0}, type, res);
      r.k("create", res);
      if (!q) return;
      look(r, q);
      cuMemPoolDestroy(q);
    };
  };
  add("pool.host_attributes", of_new(CU_MEM_LOCATION_TYPE_HOST, kPinned, attributes));
  add("pool.managed_attributes", of_new(CU_MEM_LOCATION_TYPE_DEVICE, kManaged, attributes));
  add("pool.host_access", of_new(CU_MEM_LOCATION_TYPE_HOST, kPinned, access));
  add("pool.numa_access", of_new(CU_MEM_LOCATION_TYPE_HOST_NUMA, kPinned, access));
  add("pool.managed_access", of_new(CU_MEM_LOCATION_TYPE_DEVICE, kManaged, access));
}

}  // namespace weir::conformance
