// cases/pool_places.cpp - pools of managed memory and of the host's: where they can be, which there are already, what
// their memory is.
#include "cases/managed_memory.hpp"
#include "cases/pools.hpp"
#include "cases/ranges.hpp"
#include "probe/probe.hpp"

#include <cstring>
#include <string>
#include <utility>

namespace weir::conformance {
namespace {

constexpr auto kPinned = CU_MEM_ALLOCATION_TYPE_PINNED;
constexpr auto kManaged = static_cast<CUmemAllocationType>(2);  // CU_MEM_ALLOCATION_TYPE_MANAGED
constexpr size_t kBytes = 64 << 10;

struct NamedPlace {
  const char* name;
  CUmemLocation at;
};

// Places that a pool could be asked for at; a machine has NUMA node 0.
const NamedPlace* places(size_t& count) {
  static const NamedPlace all[] = {
      {"none", {static_cast<CUmemLocationType>(0), 0}},  {"none_neg", {static_cast<CUmemLocationType>(0), -1}},
      {"device", {CU_MEM_LOCATION_TYPE_DEVICE, 0}},      {"device_neg", {CU_MEM_LOCATION_TYPE_DEVICE, -1}},
      {"device_99", {CU_MEM_LOCATION_TYPE_DEVICE, 99}},  {"host", {CU_MEM_LOCATION_TYPE_HOST, 0}},
      {"host_neg", {CU_MEM_LOCATION_TYPE_HOST, -1}},     {"host_5", {CU_MEM_LOCATION_TYPE_HOST, 5}},
      {"numa", {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}},     {"numa_neg", {CU_MEM_LOCATION_TYPE_HOST_NUMA, -1}},
      {"numa_99", {CU_MEM_LOCATION_TYPE_HOST_NUMA, 99}}, {"numa_current", {CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0}},
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

// A pool of these properties; null where there is none.
CUmemoryPool make_at(CUmemLocation at, CUmemAllocationType type, CUresult& res, size_t most = 0, unsigned handles = 0) {
  CUmemPoolProps p = pool_props();
  p.allocType = type;
  p.location = at;
  p.maxSize = most;
  p.handleTypes = static_cast<CUmemAllocationHandleType>(handles);
  CUmemoryPool q = nullptr;
  res = cuMemPoolCreate(&q, &p);
  return q;
}

// Looks at which pools a place has.
void rec_pools(Rec& r, CUmemAllocationType type) {
  each_place([&](const std::string& name, CUmemLocation at) {
    CUmemoryPool own = nullptr, current = nullptr;
    r.k(name + ".default", cuMemGetDefaultMemPool(&own, &at, type));
    r.k(name + ".current", cuMemGetMemPool(&current, &at, type));
    r.k(name + ".same", own == current);
    r.k(name + ".one", own != nullptr);
  });
}

// What the driver says of a block from a pool, and whether host and device reach it.
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
    if (res == CUDA_SUCCESS) r.k(std::string(name) + ".is", static_cast<long long>(value & 0xffffffffu));
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
    const auto tryit = [&](const std::string& name, CUmemLocation at, CUmemAllocationType type, CUmemLocation of) {
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

void block_cases() {
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
      // Of a pool of the host's to whose memory the device was given no access.
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
      const CUdeviceptr pinned = reinterpret_cast<CUdeviceptr>(g.pin), pageable = reinterpret_cast<CUdeviceptr>(g.page);
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
    r.k("advise", cuMemAdvise(p, kBytes, CU_MEM_ADVISE_SET_READ_MOSTLY, place(CU_MEM_LOCATION_TYPE_DEVICE, 0)));
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

void settings_cases() {
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
    static constexpr std::pair<const char*, CUmemLocation> kWho[] = {{"device", {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
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

}  // namespace

void pool_places_cases() {
  making_cases();
  standing_cases();
  block_cases();
  settings_cases();
}

}  // namespace weir::conformance
