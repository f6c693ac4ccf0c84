// SPDX-License-Identifier: Apache-2.0
// cases/memory/pool/pool_places.cpp - managed and host pools: their possible locations, and the
// default pools.
#include "cases/memory/pool/placed_pools.hpp"

#include <string>

namespace weir::conformance {
namespace {

struct NamedPlace {
  const char* name;
  CUmemLocation at;
};

// Returns possible locations of a pool; every machine has NUMA node 0.
const NamedPlace* places(size_t& count) {
  static const NamedPlace all[] = {{"none", {static_cast<CUmemLocationType>(0), 0}},
                                   {"none_neg", {static_cast<CUmemLocationType>(0), -1}},
                                   {"device", {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
                                   {"device_neg", {CU_MEM_LOCATION_TYPE_DEVICE, -1}},
                                   {"device_99", {CU_MEM_LOCATION_TYPE_DEVICE, 99}},
                                   {"host", {CU_MEM_LOCATION_TYPE_HOST, 0}},
                                   {"host_neg", {CU_MEM_LOCATION_TYPE_HOST, -1}},
                                   {"host_5", {CU_MEM_LOCATION_TYPE_HOST, 5}},
                                   {"numa", {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}},
                                   {"numa_neg", {CU_MEM_LOCATION_TYPE_HOST_NUMA, -1}},
                                   {"numa_99", {CU_MEM_LOCATION_TYPE_HOST_NUMA, 99}},
                                   {"numa_current", {CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0}},
                                   {"other", {static_cast<CUmemLocationType>(77), 0}}};
  count = std::size(all);
  return all;
}

template <class Body>
void each_place(Body&& body) {
  size_t count = 0;
  const NamedPlace* all = places(count);
  for (size_t i = 0; i < count; ++i) body(all[i].name, all[i].at);
}

// Records the pools of each location.
void rec_pools(Rec& r, CUmemAllocationType type) {
  each_place([&](const std::string& name, CUmemLocation at) {
    CUmemoryPool own = nullptr, current = nullptr;
    r.k(name + ".default", cuMemGetDefaultMemPool(&own, &at, type));
    r.k(name + ".current", cuMemGetMemPool(&current, &at, type));
    r.k(name + ".same", own == current);
    r.k(name + ".one", own != nullptr);
  });
}

void making_cases() {
  add("pool.managed_create_places", [](Rec& r) {
    each_place([&](const std::string& name, CUmemLocation at) {
      CUresult res;
      const CUmemoryPool q = make_at(at, kManaged, res);
      r.k(name, res);
      if (q) r.k(name + ".destroy", cuMemPoolDestroy(q));
    });
  });
  add("pool.pinned_create_places", [](Rec& r) {
    each_place([&](const std::string& name, CUmemLocation at) {
      CUresult res;
      const CUmemoryPool q = make_at(at, kPinned, res);
      r.k(name, res);
      if (q) r.k(name + ".destroy", cuMemPoolDestroy(q));
    });
  });
  add("pool.managed_create_odd", [](Rec& r) {
    const CUmemLocation here{CU_MEM_LOCATION_TYPE_DEVICE, 0};
    const auto tryit = [&](const char* name, size_t most, unsigned handles) {
      CUresult res;
      const CUmemoryPool q = make_at(here, kManaged, res, most, handles);
      r.k(name, res);
      if (q) cuMemPoolDestroy(q);
    };
    tryit("max_2m", 2 << 20, 0);
    tryit("max_1", 1, 0);
    tryit("posix_fd", 0, 1);
    tryit("win32", 0, 2);
  });
  add("pool.host_create_odd", [](Rec& r) {
    const auto tryit = [&](const char* name, CUmemLocation at, unsigned handles) {
      CUresult res;
      const CUmemoryPool q = make_at(at, kPinned, res, 2 << 20, handles);
      r.k(name, res);
      if (q) cuMemPoolDestroy(q);
    };
    tryit("host_posix_fd", {CU_MEM_LOCATION_TYPE_HOST, 0}, 1);
    tryit("numa_posix_fd", {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}, 1);
    tryit("numa_max", {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}, 0);
  });
}

void standing_cases() {
  add("pool.pinned_pools_of_places", [](Rec& r) { rec_pools(r, kPinned); });
  add("pool.managed_pools_of_places", [](Rec& r) { rec_pools(r, kManaged); });
  add("pool.pools_of_no_type", [](Rec& r) {
    CUmemLocation here{CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemoryPool q = nullptr;
    r.k("type0", cuMemGetMemPool(&q, &here, static_cast<CUmemAllocationType>(0)));
    r.k("type77", cuMemGetMemPool(&q, &here, static_cast<CUmemAllocationType>(77)));
    r.k("no_place", cuMemGetMemPool(&q, nullptr, kPinned));
    r.k("no_out", cuMemGetMemPool(nullptr, &here, kPinned));
    here.id = 99;
    r.k("no_out_no_device", cuMemGetMemPool(nullptr, &here, kPinned));
  });
  add("pool.managed_and_pinned_differ", [](Rec& r) {
    CUmemLocation here{CU_MEM_LOCATION_TYPE_DEVICE, 0}, host{CU_MEM_LOCATION_TYPE_HOST, 0},
        none{static_cast<CUmemLocationType>(0), 0}, numa{CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
    const auto pool = [](CUmemLocation at, CUmemAllocationType type) {
      CUmemoryPool q = nullptr;
      cuMemGetMemPool(&q, &at, type);
      return q;
    };
    r.k("device", pool(here, kManaged) == pool(here, kPinned));
    r.k("host", pool(host, kManaged) == pool(host, kPinned));
    r.k("managed_none_and_device", pool(none, kManaged) == pool(here, kManaged));
    r.k("managed_none_and_host", pool(none, kManaged) == pool(host, kManaged));
    r.k("pinned_host_and_numa", pool(host, kPinned) == pool(numa, kPinned));
  });
  add("pool.standing_cannot_end", [](Rec& r) {
    CUmemLocation host{CU_MEM_LOCATION_TYPE_HOST, 0}, none{static_cast<CUmemLocationType>(0), 0};
    CUmemoryPool q = nullptr;
    r.k("host", cuMemGetDefaultMemPool(&q, &host, kPinned));
    if (q) r.k("host.destroy", cuMemPoolDestroy(q));
    if (q) r.k("host.trim", cuMemPoolTrimTo(q, 0));
    q = nullptr;
    r.k("managed", cuMemGetDefaultMemPool(&q, &none, kManaged));
    if (q) r.k("managed.destroy", cuMemPoolDestroy(q));
    if (q) r.k("managed.trim", cuMemPoolTrimTo(q, 0));
  });
  add("pool.set_by_place", ISO, [](Rec& r) {
    const auto tryit = [&](const std::string& name, CUmemLocation at, CUmemAllocationType type,
                           CUmemLocation of) {
      CUresult res;
      const CUmemoryPool q = make_at(of, type, res);
      CUmemoryPool now = nullptr;
      if (!q) return;
      r.k(name, cuMemSetMemPool(&at, type, q));
      cuMemGetMemPool(&now, &at, type);
      r.k(name + ".now", now == q);
      r.k(name + ".destroy", cuMemPoolDestroy(q));
      CUmemoryPool own = nullptr;
      cuMemGetMemPool(&now, &at, type);
      cuMemGetDefaultMemPool(&own, &at, type);
      r.k(name + ".back", now == own);
    };
    const CUmemLocation device{CU_MEM_LOCATION_TYPE_DEVICE, 0}, host{CU_MEM_LOCATION_TYPE_HOST, 0},
        none{static_cast<CUmemLocationType>(0), 0}, numa{CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
    tryit("host", host, kPinned, host);
    tryit("numa", numa, kPinned, numa);
    tryit("host_by_numa_pool", host, kPinned, numa);
    tryit("device_by_host_pool", device, kPinned, host);
    tryit("managed_none", none, kManaged, none);
    tryit("managed_none_by_device_pool", none, kManaged, device);
    tryit("managed_device", device, kManaged, device);
    tryit("managed_host", host, kManaged, host);
  });
}

}  // namespace

void pool_places_cases() {
  making_cases();
  standing_cases();
}

}  // namespace weir::conformance
