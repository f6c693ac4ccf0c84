// SPDX-License-Identifier: Apache-2.0
// cases/memory/vmm_reserve.cpp - reserving and freeing ranges of addresses.
#include "cases/memory/ranges.hpp"

namespace weir::conformance {
namespace {

// Reserves, records the result, and frees the addresses.
void rec_reserve(Rec& r, const std::string& key, size_t size, size_t alignment,
                 CUdeviceptr wish = 0, unsigned long long flags = 0) {
  CUdeviceptr p = 0;
  if (r.k(key, cuMemAddressReserve(&p, size, alignment, wish, flags)) != CUDA_SUCCESS) return;
  r.k(key + ".aligned", p % (alignment > kGrain ? alignment : kGrain) == 0);
  if (wish) r.k("~" + key + ".granted", p == wish);
  OK(cuMemAddressFree(p, size));
}

}  // namespace

void vmm_reserve_cases() {
  add("vmm.reserve_sizes", [](Rec& r) {
    r.k("null_out", cuMemAddressReserve(nullptr, kGrain, 0, 0, 0));
    rec_reserve(r, "size0", 0, 0);
    rec_reserve(r, "one_byte", 1, 0);
    rec_reserve(r, "page", 4096, 0);
    rec_reserve(r, "64k", 64 << 10, 0);
    rec_reserve(r, "grain", kGrain, 0);
    rec_reserve(r, "grain_and_a_half", kGrain * 3 / 2, 0);
    rec_reserve(r, "flags1", kGrain, 0, 0, 1);
  });
  add("vmm.reserve_large", [](Rec& r) {
    rec_reserve(r, "terabyte", size_t{1} << 40, 0);
    rec_reserve(r, "60_bits", size_t{1} << 60, 0);
    rec_reserve(r, "most", ~size_t{0} / kGrain * kGrain, 0);
  });
  add("vmm.reserve_alignment", [](Rec& r) {
    rec_reserve(r, "a1", kGrain, 1);
    rec_reserve(r, "a3", kGrain, 3);
    rec_reserve(r, "a4096", kGrain, 4096);
    rec_reserve(r, "grain", kGrain, kGrain);
    rec_reserve(r, "grain3", kGrain, 3 * kGrain);
    rec_reserve(r, "gigabyte", kGrain, size_t{1} << 30);
  });
  add("vmm.reserve_wish", [](Rec& r) {
    CUdeviceptr was = 0;
    OK(cuMemAddressReserve(&was, 2 * kGrain, 0, 0, 0));
    OK(cuMemAddressFree(was, 2 * kGrain));
    rec_reserve(r, "free", 2 * kGrain, 0, was);
    rec_reserve(r, "unaligned", kGrain, 0, was + 4096);
    Range taken;
    CUdeviceptr p = 0;
    if (r.k("taken", cuMemAddressReserve(&p, kGrain, 0, taken, 0)) == CUDA_SUCCESS) {
      r.k("taken.elsewhere", p != taken.p);
      OK(cuMemAddressFree(p, kGrain));
    }
  });
  add("vmm.reserve_wish_alignment", [](Rec& r) {
    // Address hints between two multiples of the requested alignment, where the addresses are free.
    constexpr size_t gigabyte = size_t{1} << 30;
    CUdeviceptr was = 0;
    OK(cuMemAddressReserve(&was, 2 * gigabyte, gigabyte, 0, 0));
    OK(cuMemAddressFree(was, 2 * gigabyte));
    rec_reserve(r, "aligned", kGrain, gigabyte, was + gigabyte);
    rec_reserve(r, "grain_only", kGrain, gigabyte, was + kGrain);
    rec_reserve(r, "grain_only_small", kGrain, 2 * kGrain, was + kGrain);
    rec_reserve(r, "no_alignment", kGrain, 0, was + kGrain);
    rec_reserve(r, "less_than_grain", kGrain, 4096, was + kGrain);
  });
  add("vmm.free_address_errors", [](Rec& r) {
    Range a(2 * kGrain);
    r.k("null", cuMemAddressFree(0, kGrain));
    r.k("size0", cuMemAddressFree(a, 0));
    r.k("shorter", cuMemAddressFree(a, kGrain));
    r.k("longer", cuMemAddressFree(a, 3 * kGrain));
    r.k("inner", cuMemAddressFree(a + kGrain, kGrain));
    r.k("unaligned", cuMemAddressFree(a + 4096, 2 * kGrain));
    r.k("device_memory", cuMemAddressFree(g.dbuf, kScratch));
    r.k("pinned", cuMemAddressFree(reinterpret_cast<CUdeviceptr>(g.pin), kScratch));
    r.k("whole", cuMemAddressFree(a, 2 * kGrain));
    a.p = 0;
  });
  add("vmm.reserved_is_no_memory", [](Rec& r) {
    Range a;
    r.k("htod", cuMemcpyHtoD(a, g.pin, 16));
    r.k("memset", cuMemsetD8(a, 1, 16));
    r.k("dtod", cuMemcpyDtoD(g.dbuf, a, 16));
    r.k("mem_free", cuMemFree(a));
    r.k("free_async", cuMemFreeAsync(a, LEGACY));
    r.k("host_register", cuMemHostRegister(reinterpret_cast<void*>(a.p), 4096, 0));
    r.k("sync", cuCtxSynchronize());
  });
  add("vmm.no_context", [](Rec& r) {
    const CUmemAllocationProp prop = on_device();
    const CUmemAccessDesc desc = access_of(prop.location);
    CUdeviceptr p = 0;
    CUmemGenericAllocationHandle h = 0;
    size_t grain = 0;
    unsigned long long flags = 9;
    on_thread(
        [&] {
          r.k("granularity",
              cuMemGetAllocationGranularity(&grain, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
          r.k("reserve", cuMemAddressReserve(&p, kGrain, 0, 0, 0));
          r.k("create", cuMemCreate(&h, kGrain, &prop, 0));
          if (!p || !h) return;
          r.k("map", cuMemMap(p, kGrain, 0, h, 0));
          r.k("access", cuMemSetAccess(p, kGrain, &desc, 1));
          r.k("get_access", cuMemGetAccess(&flags, &desc.location, p));
          r.k("release", cuMemRelease(h));
          r.k("unmap", cuMemUnmap(p, kGrain));
          r.k("free_address", cuMemAddressFree(p, kGrain));
        },
        false);
  });
  add("vmm.in_capture", [](Rec& r) {
    Range a;
    Piece m(kGrain, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CUmemAllocationProp prop{};
    CUmemGenericAllocationHandle h = 0;
    Fd fd;
    unsigned long long flags = 0;
    const CUmemLocation here = place(CU_MEM_LOCATION_TYPE_DEVICE, g.dev);
    rec_in_capture(r, "map", [&] { return cuMemMap(a, kGrain, 0, m, 0); });
    rec_in_capture(r, "set_access", [&] { return open_access(a, kGrain); });
    rec_in_capture(r, "get_access", [&] { return cuMemGetAccess(&flags, &here, a); });
    rec_in_capture(r, "properties",
                   [&] { return cuMemGetAllocationPropertiesFromHandle(&prop, m); });
    rec_in_capture(r, "export", [&] {
      return cuMemExportToShareableHandle(&fd.n, m, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    });
    rec_in_capture(r, "retain",
                   [&] { return cuMemRetainAllocationHandle(&h, reinterpret_cast<void*>(a.p)); });
    if (h) rec_in_capture(r, "release", [&] { return cuMemRelease(h); });
    rec_in_capture(r, "unmap", [&] { return cuMemUnmap(a, kGrain); });
    rec_in_capture(r, "free_address", [&] { return cuMemAddressFree(a, kGrain); });
  });
  add("vmm.inside_host_function", [](Rec& r) {
    struct Answers {
      CUresult granularity, reserve, create, unmap;
      CUdeviceptr range;
    };
    Range a;
    Answers answers{kMissing, kMissing, kMissing, kMissing, a};
    Stream s(NB);
    OK(cuLaunchHostFunc(
        s,
        [](void* data) {
          auto& mine = *static_cast<Answers*>(data);
          const CUmemAllocationProp prop = on_device();
          size_t grain = 0;
          CUdeviceptr p = 0;
          CUmemGenericAllocationHandle h = 0;
          mine.granularity =
              cuMemGetAllocationGranularity(&grain, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
          mine.reserve = cuMemAddressReserve(&p, kGrain, 0, 0, 0);
          mine.create = cuMemCreate(&h, kGrain, &prop, 0);
          mine.unmap = cuMemUnmap(mine.range, kGrain);
        },
        &answers));
    OK(cuStreamSynchronize(s));
    r.k("granularity", answers.granularity);
    r.k("reserve", answers.reserve);
    r.k("create", answers.create);
    r.k("unmap", answers.unmap);
  });
}

}  // namespace weir::conformance
