// SPDX-License-Identifier: Apache-2.0
// cases/two_devices/two_reach.cpp - device 1's memory, its accessibility, and calls that use it.
#include "cases/two_devices/two_reach.hpp"

#include "cases/memory/ranges.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace weir::conformance {

const Reached::Named Reached::all[14] = {{State::plain, "plain"},
                                         {State::plain_peer, "plain_peer"},
                                         {State::plain_reverse, "plain_reverse"},
                                         {State::pool, "pool"},
                                         {State::pool_peer, "pool_peer"},
                                         {State::pool_read, "pool_read"},
                                         {State::pool_readwrite, "pool_readwrite"},
                                         {State::pool_taken_back, "pool_taken_back"},
                                         {State::default_pool, "default_pool"},
                                         {State::default_pool_peer, "default_pool_peer"},
                                         {State::default_pool_readwrite, "default_pool_readwrite"},
                                         {State::mapped_far, "mapped_far"},
                                         {State::mapped_near, "mapped_near"},
                                         {State::mapped_both, "mapped_both"}};

CUmemAccessDesc access_from(CUdevice device, CUmemAccess_flags flags) {
  return access_of(place(CU_MEM_LOCATION_TYPE_DEVICE, device), flags);
}

Reached::Reached(State state, const SecondDevice& device1) : owner(device1.ctx), far_(device1) {
  const auto let = [&](CUmemAccess_flags flags) {
    const CUmemAccessDesc near = access_from(g.dev, flags);
    OK(cuMemPoolSetAccess(pool_, &near, 1));
  };
  switch (state) {
    case State::plain:
    case State::plain_peer:
    case State::plain_reverse: p = device1.mem; break;
    case State::pool:
    case State::pool_peer:
    case State::pool_read:
    case State::pool_readwrite:
    case State::pool_taken_back: from_pool(true); break;
    case State::default_pool:
    case State::default_pool_peer:
    case State::default_pool_readwrite: from_pool(false); break;
    case State::mapped_far: map(false, true); break;
    case State::mapped_near: map(true, false); break;
    case State::mapped_both: map(true, true); break;
  }
  if (state == State::plain_peer || state == State::pool_peer || state == State::default_pool_peer)
    OK(device1.enable_access_from_first());
  if (state == State::plain_reverse || state == State::pool_peer ||
      state == State::default_pool_peer)
    OK(device1.enable_access_to_first());
  if (state == State::pool_read) {
    // A driver may lack this kind of access to a pool (two.pool_access says so): then there is
    // none.
    const CUmemAccessDesc near = access_from(g.dev, CU_MEM_ACCESS_FLAGS_PROT_READ);
    cuMemPoolSetAccess(pool_, &near, 1);
  }
  if (state == State::pool_readwrite || state == State::pool_taken_back ||
      state == State::default_pool_readwrite)
    let(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  if (state == State::pool_taken_back) let(CU_MEM_ACCESS_FLAGS_PROT_NONE);
}

void Reached::from_pool(bool own) {
  own_pool_ = own;
  if (own) {
    CUmemPoolProps props;
    memset(&props, 0, sizeof props);
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location = place(CU_MEM_LOCATION_TYPE_DEVICE, SecondDevice::dev);
    OK(cuMemPoolCreate(&pool_, &props));
  } else {
    OK(cuDeviceGetDefaultMemPool(&pool_, SecondDevice::dev));
  }
  const Current current(far_.ctx);
  OK(cuMemAllocFromPoolAsync(&p, kSecondDeviceBytes, pool_, far_.s));
  OK(cuStreamSynchronize(far_.s));
}

void Reached::map(bool near, bool device1) {
  if (!device1) owner = g.ctx;
  CUmemAllocationProp props = on_device();
  props.location.id = SecondDevice::dev;
  OK(cuMemCreate(&memory_, kGrain, &props, 0));
  OK(cuMemAddressReserve(&p, kGrain, 0, 0, 0));
  OK(cuMemMap(p, kGrain, 0, memory_, 0));
  for (const auto& [device, open] :
       {std::pair{g.dev, near}, std::pair{SecondDevice::dev, device1}}) {
    const CUmemAccessDesc desc = access_from(device);
    if (open) OK(cuMemSetAccess(p, kGrain, &desc, 1));
  }
}

Reached::~Reached() {
  if (memory_) {
    cuMemUnmap(p, kGrain);
    cuMemAddressFree(p, kGrain);
    cuMemRelease(memory_);
  }
  if (!pool_) return;
  cuMemFreeAsync(p, far_.s);
  cuStreamSynchronize(far_.s);
  const CUmemAccessDesc none = access_from(g.dev, CU_MEM_ACCESS_FLAGS_PROT_NONE);
  cuMemPoolSetAccess(pool_, &none, 1);
  if (own_pool_) cuMemPoolDestroy(pool_);
}

void Tried::call(const std::string& key, CUstream s, const std::function<CUresult()>& f,
                 const std::function<bool()>& did) {
  if (lost_ || r_.k(key, f()) != CUDA_SUCCESS) return;
  CUresult end = CUDA_ERROR_NOT_READY;
  wait_for([&] { return (end = cuStreamQuery(s)) != CUDA_ERROR_NOT_READY; }, kMustHappenMs);
  lost_ = end != CUDA_SUCCESS;
  if (lost_)
    r_.k(key + ".then", end);
  else if (did)
    r_.k(key + ".did", did());
}

void Copied::copy(const std::string& key, CUstream s, const Words& to, const Words& from,
                  const std::function<CUresult()>& f) {
  const auto put = [](const Words& w, uint32_t value) {
    if (w.owner)
      put_words(w.owner, w.at, value);
    else
      std::fill_n(reinterpret_cast<uint32_t*>(w.at), kCopied / sizeof value, value);
  };
  const uint32_t value = ++value_;
  tried_.call(
      key, s,
      [&] {
        put(from, value);
        put(to, 0);
        return f();
      },
      [&] {
        for (const CUcontext each : {g.ctx, g.device1}) OK(cuCtxSynchronize_v2(each));
        return (to.owner ? get_word(to.owner, to.at) : *reinterpret_cast<uint32_t*>(to.at)) ==
               value;
      });
}

void add_for_each_state(const std::string& group, unsigned flags,
                        void (*body)(Rec&, Reached::State)) {
  for (const auto& [state, name] : Reached::all)
    add(group + "." + name, flags | SECOND_DEVICE, [body, state](Rec& r) { body(r, state); });
}

}  // namespace weir::conformance
