// SPDX-License-Identifier: Apache-2.0
// cases/two_devices/two_pools.cpp - which devices may access a pool's memory, as the pool reports
// it, and which pool is current.
#include "cases/memory/pool/pools.hpp"
#include "cases/memory/ranges.hpp"
#include "cases/two_devices/two_reach.hpp"

#include <cstring>

namespace weir::conformance {
namespace {

void rec_pool_access(Rec& r, const std::string& key, CUmemoryPool p) {
  for (const auto& [device, name] :
       {std::pair{g.dev, ".near"}, std::pair{SecondDevice::dev, ".far"}}) {
    CUmemAccess_flags flags = static_cast<CUmemAccess_flags>(9);
    CUmemLocation where = place(CU_MEM_LOCATION_TYPE_DEVICE, device);
    const CUresult res = cuMemPoolGetAccess(&flags, p, &where);
    if (res == CUDA_SUCCESS)
      r.k(key + name, static_cast<int>(flags));
    else
      r.k(key + name, res);
  }
}

CUmemoryPool far_pool() {
  CUmemPoolProps props = pool_props();
  props.location.id = SecondDevice::dev;
  CUmemoryPool p = nullptr;
  OK(cuMemPoolCreate(&p, &props));
  return p;
}

void set(Rec& r, const std::string& key, CUmemoryPool p, CUdevice device, unsigned flags) {
  const CUmemAccessDesc desc = access_from(device, static_cast<CUmemAccess_flags>(flags));
  r.k(key, cuMemPoolSetAccess(p, &desc, 1));
  rec_pool_access(r, key, p);
}

}  // namespace

void two_pools_cases() {
  add("two.pool_access", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const CUmemoryPool p = far_pool();
    rec_pool_access(r, "made", p);
    set(r, "read", p, g.dev, 1);
    set(r, "readwrite", p, g.dev, 3);
    set(r, "flags2", p, g.dev, 2);
    set(r, "none", p, g.dev, 0);
    set(r, "own_none", p, SecondDevice::dev, 0);
    set(r, "own_read", p, SecondDevice::dev, 1);
    set(r, "own_readwrite", p, SecondDevice::dev, 3);
    set(r, "beyond", p, 99, 3);
    r.k("destroy", cuMemPoolDestroy(p));
  });
  add("two.pool_access_of_several", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const CUmemoryPool p = far_pool();
    CUmemAccessDesc both[2] = {access_from(g.dev), access_from(SecondDevice::dev)};
    r.k("both", cuMemPoolSetAccess(p, both, 2));
    rec_pool_access(r, "both", p);
    both[0].flags = both[1].flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    r.k("both_none", cuMemPoolSetAccess(p, both, 2));
    rec_pool_access(r, "both_none", p);
    both[1] = access_from(99);
    both[0] = access_from(g.dev);
    r.k("second_beyond", cuMemPoolSetAccess(p, both, 2));
    rec_pool_access(r, "second_beyond", p);
    both[1] = access_from(g.dev, CU_MEM_ACCESS_FLAGS_PROT_READ);
    r.k("same_twice", cuMemPoolSetAccess(p, both, 2));
    rec_pool_access(r, "same_twice", p);
    OK(cuMemPoolDestroy(p));
  });
  add("two.default_pool_access", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    CUmemoryPool near_pool = nullptr, p = nullptr;
    OK(cuDeviceGetDefaultMemPool(&near_pool, g.dev));
    OK(cuDeviceGetDefaultMemPool(&p, SecondDevice::dev));
    rec_pool_access(r, "near_pool", near_pool);
    rec_pool_access(r, "far_pool", p);
    set(r, "far_pool_readwrite", p, g.dev, 3);
    set(r, "near_pool_readwrite", near_pool, SecondDevice::dev, 3);
    set(r, "far_pool_none", p, g.dev, 0);
    set(r, "near_pool_none", near_pool, SecondDevice::dev, 0);
  });
  add("two.pool_access_and_peer_access", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const CUmemoryPool p = far_pool();
    CUmemoryPool by_default = nullptr;
    OK(cuDeviceGetDefaultMemPool(&by_default, SecondDevice::dev));
    r.k("enable", device1.enable_access_from_first());
    rec_pool_access(r, "enabled", p);
    rec_pool_access(r, "enabled_default", by_default);
    set(r, "readwrite", p, g.dev, 3);
    r.k("disable", cuCtxDisablePeerAccess(device1.ctx));
    rec_pool_access(r, "disabled", p);
    OK(cuMemPoolDestroy(p));
  });
  add("two.pool_access_of_memory", SECOND_DEVICE, [](Rec& r) {
    // The attributes of pointers allocated before and after the access was given.
    const SecondDevice device1;
    const CUmemoryPool p = far_pool();
    const CUdeviceptr older = pool_alloc(p, 4096, device1.s);
    const auto asked = [&](const std::string& key, CUdeviceptr at) {
      for (const auto& [device, name] :
           {std::pair{g.dev, ".near"}, std::pair{SecondDevice::dev, ".far"}}) {
        unsigned long long flags = 99;
        const CUmemLocation where = place(CU_MEM_LOCATION_TYPE_DEVICE, device);
        const CUresult res = cuMemGetAccess(&flags, &where, at);
        if (r.k(key + name, res) == CUDA_SUCCESS) r.k(key + name + ".flags", flags);
      }
    };
    asked("before", older);
    const CUmemAccessDesc near = access_from(g.dev);
    OK(cuMemPoolSetAccess(p, &near, 1));
    const CUdeviceptr newer = pool_alloc(p, 4096, device1.s);
    asked("older", older);
    asked("newer", newer);
    OK(cuMemFreeAsync(older, device1.s));
    OK(cuMemFreeAsync(newer, device1.s));
    OK(cuStreamSynchronize(device1.s));
    OK(cuMemPoolDestroy(p));
  });
  add("two.pool_access_in_capture", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Stream s(NB);
    const CUmemoryPool p = far_pool();
    begin(s);
    const CUmemAccessDesc near = access_from(g.dev);
    r.k("set", cuMemPoolSetAccess(p, &near, 1));
    r.k("status", capture_status(s));
    rec_pool_access(r, "get", p);
    rec_end(r, "end", s);
    OK(cuMemPoolDestroy(p));
  });
  add("two.pool_current", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    CUmemoryPool was = nullptr, now = nullptr;
    OK(cuDeviceGetMemPool(&was, SecondDevice::dev));
    const Pool near_made;
    const CUmemoryPool p = far_pool();
    r.k("near_pool_for_far", cuDeviceSetMemPool(SecondDevice::dev, near_made));
    r.k("far_pool_for_near", cuDeviceSetMemPool(g.dev, p));
    r.k("far_pool_for_far", cuDeviceSetMemPool(SecondDevice::dev, p));
    OK(cuDeviceGetMemPool(&now, SecondDevice::dev));
    r.k("is_current", now == p);
    CUdeviceptr at = 0;
    CUmemoryPool of = nullptr;
    r.k("alloc", cuMemAllocAsync(&at, 4096, device1.s));
    OK(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at));
    r.k("alloc_is_of_it", of == p);
    OK(cuMemFreeAsync(at, device1.s));
    r.k("back", cuDeviceSetMemPool(SecondDevice::dev, was));
    OK(cuStreamSynchronize(device1.s));
    OK(cuMemPoolDestroy(p));
  });
}

}  // namespace weir::conformance
