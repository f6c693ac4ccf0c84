// SPDX-License-Identifier: Apache-2.0
// cases/two_devices/two_memory.cpp - attributes of device 1's memory, and host and managed memory
// that both devices use.
#include "cases/memory/managed_memory.hpp"
#include "cases/memory/ranges.hpp"
#include "cases/two_devices/two_reach.hpp"

#include <cstring>

namespace weir::conformance {
namespace {

void rec_pointer(Rec& r, const std::string& key, CUdeviceptr p) {
  CUcontext c = nullptr;
  if (r.k(key + ".context", cuPointerGetAttribute(&c, CU_POINTER_ATTRIBUTE_CONTEXT, p)) ==
      CUDA_SUCCESS)
    r.k(key + ".context.is", !c ? "null" : c == g.ctx ? "near" : c == g.device1 ? "far" : "other");
  static constexpr std::pair<const char*, CUpointer_attribute> kNumbers[] = {
      {".memory_type", CU_POINTER_ATTRIBUTE_MEMORY_TYPE},
      {".device", CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL},
      {".managed", CU_POINTER_ATTRIBUTE_IS_MANAGED},
      {".mapped", CU_POINTER_ATTRIBUTE_MAPPED},
      {".sync", CU_POINTER_ATTRIBUTE_SYNC_MEMOPS},
      {".access", CU_POINTER_ATTRIBUTE_ACCESS_FLAGS}};
  for (const auto& [name, attribute] : kNumbers) {
    unsigned value = 0;
    if (r.k(key + name, cuPointerGetAttribute(&value, attribute, p)) == CUDA_SUCCESS)
      r.k(key + name + ".is", value);
  }
  CUdeviceptr seen = 0;
  if (r.k(key + ".pointer", cuPointerGetAttribute(&seen, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p)) ==
      CUDA_SUCCESS)
    r.k(key + ".pointer.same", seen == p);
}

void said(Rec& r, Reached::State state) {
  const SecondDevice device1;
  const Reached reached(state, device1);
  rec_pointer(r, "near", reached.p);
  CUdeviceptr base = 0;
  size_t size = 0;
  r.k("range", cuMemGetAddressRange(&base, &size, reached.p + 256));
  r.k("range.start", base == reached.p);
  r.k("range.size", static_cast<unsigned long>(size));
  const Current current(device1.ctx);
  rec_pointer(r, "far", reached.p);
  r.k("range_there", cuMemGetAddressRange(&base, &size, reached.p + 256));
}

}  // namespace

void two_memory_cases() {
  add_for_each_state("two.pointer", NORMAL, said);
  add("two.pointer_near_from_far", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Current current(device1.ctx);
    rec_pointer(r, "near_memory", g.dbuf);
    CUdeviceptr base = 0;
    size_t size = 0;
    r.k("range", cuMemGetAddressRange(&base, &size, g.dbuf + 64));
    r.k("range.start", base == g.dbuf);
    const int on = 1;
    r.k("sync_memops", cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, device1.mem));
  });
  add("two.pinned_memory", SECOND_DEVICE, [](Rec& r) {
    // Allocated while device 0's context is current, portable or not; used by device 1.
    const SecondDevice device1;
    for (const unsigned flags : {0u, 1u, 2u, 3u}) {
      const std::string n = "f" + std::to_string(flags);
      void* h = nullptr;
      OK(cuMemHostAlloc(&h, 4096, flags));
      memset(h, 0, 4096);
      const auto p = reinterpret_cast<CUdeviceptr>(h);
      Copied c(r);
      const Words host{nullptr, p}, there{device1.ctx, device1.mem};
      c.copy(n + ".of", device1.s, there, host,
             [&] { return cuMemcpyHtoDAsync(device1.mem, h, kCopied, device1.s); });
      c.copy(n + ".to", device1.s, host, there,
             [&] { return cuMemcpyAsync(p, device1.mem, kCopied, device1.s); });
      r.k(n + ".set", cuMemsetD32Async(p, 3, 1, device1.s));
      r.k(n + ".set.sync", cuStreamSynchronize(device1.s));
      {
        const Current current(device1.ctx);
        CUdeviceptr d = 0;
        r.k(n + ".device_pointer", cuMemHostGetDevicePointer(&d, h, 0));
        r.k(n + ".device_pointer.same", d == p);
        rec_pointer(r, n, p);
      }
      OK(cuMemFreeHost(h));
    }
  });
  add("two.pinned_memory_freed_from_far", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    void* h = nullptr;
    OK(cuMemHostAlloc(&h, 4096, 0));
    const Current current(device1.ctx);
    r.k("free", cuMemFreeHost(h));
    alignas(4096) static unsigned char page[4096];
    {
      const Current near(g.ctx);
      OK(cuMemHostRegister(page, sizeof page, 0));
    }
    rec_pointer(r, "registered", reinterpret_cast<CUdeviceptr>(page));
    r.k("unregister", cuMemHostUnregister(page));
  });
  add("two.managed_memory", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Stream s(NB);
    const Managed m(256 << 10);
    const CUmemLocation there = place(CU_MEM_LOCATION_TYPE_DEVICE, SecondDevice::dev),
                        here = place(CU_MEM_LOCATION_TYPE_DEVICE, g.dev);
    r.k("prefetch_far_in_near_stream", cuMemPrefetchAsync(m, m.n, there, 0, s));
    r.k("sync", cuStreamSynchronize(s));
    rec_range(r, "prefetched", m, m.n);
    r.k("prefetch_far_in_far_stream", cuMemPrefetchAsync(m, m.n, there, 0, device1.s));
    r.k("prefetch_near_in_far_stream", cuMemPrefetchAsync(m, m.n, here, 0, device1.s));
    r.k("sync_far", cuStreamSynchronize(device1.s));
    rec_range(r, "prefetched_back", m, m.n);
    r.k("prefer_far", cuMemAdvise(m, m.n, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, there));
    r.k("access_far", cuMemAdvise(m, m.n, CU_MEM_ADVISE_SET_ACCESSED_BY, there));
    rec_range(r, "advised", m, m.n);
    int devices[3] = {-5, -5, -5};
    r.k("access_near", cuMemAdvise(m, m.n, CU_MEM_ADVISE_SET_ACCESSED_BY, here));
    r.k("accessed_by", cuMemRangeGetAttribute(devices, sizeof devices,
                                              CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, m, m.n));
    r.k("accessed_by.0", devices[0]);
    r.k("accessed_by.1", devices[1]);
    r.k("accessed_by.2", devices[2]);
    r.k("unprefer", cuMemAdvise(m, m.n, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, there));
    r.k("unaccess", cuMemAdvise(m, m.n, CU_MEM_ADVISE_UNSET_ACCESSED_BY, there));
    rec_range(r, "then", m, m.n);
    r.k("set_far_stream", cuMemsetD32Async(m, 1, 16, device1.s));
    r.k("set_sync", cuStreamSynchronize(device1.s));
    r.k("word", get_word(g.ctx, m));
  });
  add("two.managed_attached", SECOND_DEVICE, [](Rec& r) {
    // Attached to streams of either device.
    const SecondDevice device1;
    const Stream s(NB);
    const Managed m(64 << 10);
    r.k("near", cuStreamAttachMemAsync(s, m, 0, CU_MEM_ATTACH_SINGLE));
    r.k("near_sync", cuStreamSynchronize(s));
    r.k("far", cuStreamAttachMemAsync(device1.s, m, 0, CU_MEM_ATTACH_SINGLE));
    r.k("far_sync", cuStreamSynchronize(device1.s));
    r.k("all", cuStreamAttachMemAsync(s, m, 0, CU_MEM_ATTACH_GLOBAL));
    r.k("all_sync", cuStreamSynchronize(s));
    rec_pointer(r, "pointer", m);
  });
  add("two.array_copies", SECOND_DEVICE, [](Rec& r) {
    // An array of device 1, and linear memory of device 0.
    const SecondDevice device1;
    const Stream s(NB);
    CUarray a = nullptr;
    {
      const Current current(device1.ctx);
      const CUDA_ARRAY_DESCRIPTOR d{64, 1, CU_AD_FORMAT_UNSIGNED_INT8, 1};
      OK(cuArrayCreate(&a, &d));
    }
    Tried t(r);
    t.call("htoa", s, [&] { return cuMemcpyHtoAAsync(a, 0, g.pin, 64, s); });
    t.call("htoa_far_stream", device1.s,
           [&] { return cuMemcpyHtoAAsync(a, 0, g.pin, 64, device1.s); });
    t.call("htoa_at_once", nullptr, [&] { return cuMemcpyHtoA(a, 0, g.pin, 64); });
    t.call("dtoa_at_once", nullptr, [&] { return cuMemcpyDtoA(a, 0, g.dbuf, 64); });
    t.call("atod_at_once", nullptr, [&] { return cuMemcpyAtoD(g.dbuf, a, 0, 64); });
    r.k("destroy", cuArrayDestroy(a));
  });
}

}  // namespace weir::conformance
