// SPDX-License-Identifier: Apache-2.0
// cases/two_devices/two_mapped.cpp - allocations of device 1 without addresses, mapped for one
// device or both.
#include "cases/memory/ranges.hpp"
#include "cases/two_devices/two_reach.hpp"

namespace weir::conformance {
namespace {

CUmemAllocationProp there() {
  CUmemAllocationProp p = on_device();
  p.location.id = SecondDevice::dev;
  return p;
}

CUmemLocation on(CUdevice device) { return place(CU_MEM_LOCATION_TYPE_DEVICE, device); }

void rec_mapped_access(Rec& r, const std::string& key, CUdeviceptr p) {
  for (const auto& [device, name] :
       {std::pair{g.dev, ".near"}, std::pair{SecondDevice::dev, ".far"}}) {
    unsigned long long flags = 99;
    const CUmemLocation where = on(device);
    if (r.k(key + name, cuMemGetAccess(&flags, &where, p)) == CUDA_SUCCESS)
      r.k(key + name + ".flags", flags);
  }
}

}  // namespace

void two_mapped_cases() {
  add("two.mapped_access", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const CUmemAllocationProp props = there();
    size_t grain = 0;
    r.k("granularity",
        cuMemGetAllocationGranularity(&grain, &props, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    r.k("granularity.is", static_cast<unsigned long>(grain));
    CUmemGenericAllocationHandle h = 0;
    r.k("create", cuMemCreate(&h, kGrain, &props, 0));
    Range a;
    r.k("map", cuMemMap(a, kGrain, 0, h, 0));
    rec_mapped_access(r, "mapped", a);
    CUmemAccessDesc near = access_from(g.dev), far_too = access_from(SecondDevice::dev);
    r.k("near", cuMemSetAccess(a, kGrain, &near, 1));
    rec_mapped_access(r, "near_let", a);
    r.k("far", cuMemSetAccess(a, kGrain, &far_too, 1));
    rec_mapped_access(r, "far_let", a);
    near.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    r.k("near_read", cuMemSetAccess(a, kGrain, &near, 1));
    rec_mapped_access(r, "near_read", a);
    near.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    r.k("near_none", cuMemSetAccess(a, kGrain, &near, 1));
    rec_mapped_access(r, "near_none", a);
    far_too.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    r.k("far_none", cuMemSetAccess(a, kGrain, &far_too, 1));
    rec_mapped_access(r, "far_none", a);
    const CUmemAccessDesc both[2] = {access_from(g.dev), access_from(SecondDevice::dev)};
    r.k("both", cuMemSetAccess(a, kGrain, both, 2));
    rec_mapped_access(r, "both", a);
    r.k("release", cuMemRelease(h));
  });
  add("two.mapped_and_peer_access", SECOND_DEVICE, [](Rec& r) {
    // Peer access of the contexts does not apply to mapped memory.
    const SecondDevice device1;
    OK(device1.enable_access_from_first());
    const Reached m(Reached::State::mapped_far, device1);
    rec_mapped_access(r, "peer", m.p);
  });
  add("two.mapped_twice", SECOND_DEVICE, [](Rec& r) {
    // An allocation of device 1 at two addresses: one for each device.
    const SecondDevice device1;
    const CUmemAllocationProp props = there();
    CUmemGenericAllocationHandle h = 0;
    OK(cuMemCreate(&h, kGrain, &props, 0));
    {
      Range a, b;
      r.k("map", cuMemMap(a, kGrain, 0, h, 0));
      r.k("map_again", cuMemMap(b, kGrain, 0, h, 0));
      const CUmemAccessDesc near = access_from(g.dev), far_only = access_from(SecondDevice::dev);
      r.k("near", cuMemSetAccess(a, kGrain, &near, 1));
      r.k("far", cuMemSetAccess(b, kGrain, &far_only, 1));
      put_words(device1.ctx, b, 71);
      r.k("word", get_word(g.ctx, a));
    }
    OK(cuMemRelease(h));
  });
  add("two.mapped_while_far_is_current", SECOND_DEVICE, [](Rec& r) {
    // Memory of device 0 created, mapped and made accessible while device 1's context is current,
    // and without a context.
    const SecondDevice device1;
    const auto all = [&](const std::string& key) {
      CUmemGenericAllocationHandle h = 0;
      CUdeviceptr p = 0;
      const CUmemAllocationProp props = on_device();
      const CUmemAccessDesc near = access_from(g.dev);
      r.k(key + ".create", cuMemCreate(&h, kGrain, &props, 0));
      r.k(key + ".reserve", cuMemAddressReserve(&p, kGrain, 0, 0, 0));
      r.k(key + ".map", cuMemMap(p, kGrain, 0, h, 0));
      r.k(key + ".access", cuMemSetAccess(p, kGrain, &near, 1));
      r.k(key + ".unmap", cuMemUnmap(p, kGrain));
      r.k(key + ".free", cuMemAddressFree(p, kGrain));
      r.k(key + ".release", cuMemRelease(h));
    };
    {
      const Current current(device1.ctx);
      all("far");
    }
    on_thread([&] { all("none"); }, false);
  });
}

}  // namespace weir::conformance
