// SPDX-License-Identifier: Apache-2.0
// cases/memory/managed_advice.cpp - advice on managed memory, prefetching, and the attributes of
// ranges afterwards.
#include "cases/memory/managed_memory.hpp"
#include "cases/memory/ranges.hpp"

#include <array>
#include <cstring>

namespace weir::conformance {
namespace {

CUmemLocation device() { return place(CU_MEM_LOCATION_TYPE_DEVICE, g.dev); }
CUmemLocation host() { return place(CU_MEM_LOCATION_TYPE_HOST); }

}  // namespace

void managed_advice_cases() {
  add("managed.range_at_first", [](Rec& r) {
    Managed m;
    rec_range(r, "whole", m, m.n);
    rec_range(r, "part", m + 100, 10);
  });
  add("managed.advice_kinds", [](Rec& r) {
    Managed m;
    for (unsigned advice = 0; advice <= 9; advice++) {
      const std::string key = "a" + std::to_string(advice);
      const auto a = static_cast<CUmem_advise>(advice);
      r.k(key + ".device", cuMemAdvise(m, m.n, a, device()));
      r.k(key + ".host", cuMemAdvise(m, m.n, a, host()));
      r.k(key + ".nowhere", cuMemAdvise(m, m.n, a, place(CU_MEM_LOCATION_TYPE_INVALID)));
      r.k(key + ".d99", cuMemAdvise(m, m.n, a, place(CU_MEM_LOCATION_TYPE_DEVICE, 99)));
    }
  });
  add("managed.advice_numa", [](Rec& r) {
    Managed m;
    constexpr auto preferred = CU_MEM_ADVISE_SET_PREFERRED_LOCATION;
    r.k("numa0", cuMemAdvise(m, m.n, preferred, place(CU_MEM_LOCATION_TYPE_HOST_NUMA, 0)));
    rec_range(r, "after_numa0", m, m.n);
    r.k("numa99", cuMemAdvise(m, m.n, preferred, place(CU_MEM_LOCATION_TYPE_HOST_NUMA, 99)));
    r.k("current", cuMemAdvise(m, m.n, preferred, place(CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)));
    r.k("host_id7", cuMemAdvise(m, m.n, preferred, place(CU_MEM_LOCATION_TYPE_HOST, 7)));
    r.k("type9", cuMemAdvise(m, m.n, preferred, place(static_cast<CUmemLocationType>(9))));
  });
  add("managed.advice_numa_more", [](Rec& r) {
    Managed m;
    const CUmemLocation numa = place(CU_MEM_LOCATION_TYPE_HOST_NUMA, 0);
    const CUmemLocation current = place(CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT);
    for (unsigned advice = 1; advice <= 6; advice++) {
      const std::string key = "a" + std::to_string(advice);
      const auto a = static_cast<CUmem_advise>(advice);
      r.k(key + ".numa0", cuMemAdvise(m, m.n, a, numa));
      r.k(key + ".current", cuMemAdvise(m, m.n, a, current));
    }
    OK(cuMemAdvise(m, m.n, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, current));
    rec_range(r, "current", m, m.n);
    OK(cuMemAdvise(m, m.n, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device()));
    OK(cuMemAdvise(m, m.n, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, numa));
    rec_range(r, "device_then_numa0", m, m.n);
    OK(cuMemAdvise(m, m.n, CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
                   place(CU_MEM_LOCATION_TYPE_HOST, 7)));
    rec_range(r, "host7", m, m.n);
  });
  add("managed.prefetch_numa_more", [](Rec& r) {
    Managed m;
    Stream s(NB);
    OK(cuMemPrefetchAsync(m, m.n, place(CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT), 0, s));
    OK(cuStreamSynchronize(s));
    rec_range(r, "current", m, m.n);
    OK(cuMemPrefetchAsync(m, m.n, place(CU_MEM_LOCATION_TYPE_HOST, 7), 0, s));
    OK(cuStreamSynchronize(s));
    rec_range(r, "host7", m, m.n);
    OK(cuMemPrefetchAsync(m, m.n, device(), 0, s));
    OK(cuMemPrefetchAsync(m + m.n / 2, m.n / 2, host(), 0, s));
    OK(cuStreamSynchronize(s));
    rec_range(r, "halves", m, m.n);
  });
  add("managed.advice_ranges", [](Rec& r) {
    Managed m;
    constexpr auto mostly = CU_MEM_ADVISE_SET_READ_MOSTLY;
    r.k("null", cuMemAdvise(0, m.n, mostly, device()));
    r.k("count0", cuMemAdvise(m, 0, mostly, device()));
    r.k("unaligned", cuMemAdvise(m + 100, 10, mostly, device()));
    r.k("beyond", cuMemAdvise(m, m.n + (4 << 20), mostly, device()));
    r.k("pinned", cuMemAdvise(reinterpret_cast<CUdeviceptr>(g.pin), 4096, mostly, device()));
    int pageable = 0;
    OK(cuDeviceGetAttribute(&pageable, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, g.dev));
    r.k("pageable_access", pageable);
    r.k("pageable", cuMemAdvise(reinterpret_cast<CUdeviceptr>(g.page), 4096, mostly, device()));
    r.k("freed_garbage", cuMemAdvise(0x1234, 4096, mostly, device()));
  });
  add("managed.advice_seen", [](Rec& r) {
    Managed m;
    OK(cuMemAdvise(m, m.n, CU_MEM_ADVISE_SET_READ_MOSTLY, device()));
    OK(cuMemAdvise(m, m.n, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device()));
    OK(cuMemAdvise(m, m.n, CU_MEM_ADVISE_SET_ACCESSED_BY, device()));
    rec_range(r, "device", m, m.n);
    OK(cuMemAdvise(m, m.n, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host()));
    OK(cuMemAdvise(m, m.n, CU_MEM_ADVISE_SET_ACCESSED_BY, host()));
    rec_range(r, "host", m, m.n);
    OK(cuMemAdvise(m, m.n, CU_MEM_ADVISE_UNSET_READ_MOSTLY, device()));
    OK(cuMemAdvise(m, m.n, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, device()));
    OK(cuMemAdvise(m, m.n, CU_MEM_ADVISE_UNSET_ACCESSED_BY, device()));
    rec_range(r, "unset", m, m.n);
  });
  add("managed.advice_of_a_part", [](Rec& r) {
    Managed m(4 << 20);
    const size_t half = m.n / 2;
    OK(cuMemAdvise(m, half, CU_MEM_ADVISE_SET_READ_MOSTLY, device()));
    OK(cuMemAdvise(m, half, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device()));
    OK(cuMemAdvise(m, half, CU_MEM_ADVISE_SET_ACCESSED_BY, device()));
    rec_range(r, "front", m, half);
    rec_range(r, "back", m + half, half);
    rec_range(r, "whole", m, m.n);
  });
  add("managed.accessed_by", [](Rec& r) {
    Managed m;
    OK(cuMemAdvise(m, m.n, CU_MEM_ADVISE_SET_ACCESSED_BY, device()));
    OK(cuMemAdvise(m, m.n, CU_MEM_ADVISE_SET_ACCESSED_BY, host()));
    constexpr auto kind = CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
    int list[3] = {99, 99, 99};
    r.k("three", cuMemRangeGetAttribute(list, sizeof list, kind, m, m.n));
    for (int i = 0; i < 3; i++) r.k("three" + std::to_string(i), list[i]);
    r.k("one", cuMemRangeGetAttribute(list, 4, kind, m, m.n));
    r.k("one0", list[0]);
    r.k("bytes6", cuMemRangeGetAttribute(list, 6, kind, m, m.n));
    r.k("bytes0", cuMemRangeGetAttribute(list, 0, kind, m, m.n));
  });
  add("managed.range_errors", [](Rec& r) {
    Managed m;
    int value[4] = {};
    constexpr auto kind = CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY;
    r.k("null_data", cuMemRangeGetAttribute(nullptr, 4, kind, m, m.n));
    r.k("size0", cuMemRangeGetAttribute(value, 0, kind, m, m.n));
    r.k("size8", cuMemRangeGetAttribute(value, 8, kind, m, m.n));
    r.k("attribute0",
        cuMemRangeGetAttribute(value, 4, static_cast<CUmem_range_attribute>(0), m, m.n));
    r.k("attribute9",
        cuMemRangeGetAttribute(value, 4, static_cast<CUmem_range_attribute>(9), m, m.n));
    r.k("count0", cuMemRangeGetAttribute(value, 4, kind, m, 0));
    r.k("beyond", cuMemRangeGetAttribute(value, 4, kind, m, m.n + (4 << 20)));
    r.k("null", cuMemRangeGetAttribute(value, 4, kind, 0, 4096));
    r.k("device_memory", cuMemRangeGetAttribute(value, 4, kind, g.dbuf, 4096));
    r.k("pinned",
        cuMemRangeGetAttribute(value, 4, kind, reinterpret_cast<CUdeviceptr>(g.pin), 4096));
    r.k("pageable",
        cuMemRangeGetAttribute(value, 4, kind, reinterpret_cast<CUdeviceptr>(g.page), 4096));
  });
  add("managed.range_many", [](Rec& r) {
    Managed m;
    int mostly = 99, preferred = 99;
    void* data[2] = {&mostly, &preferred};
    size_t sizes[2] = {4, 4};
    CUmem_range_attribute kinds[2] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                      CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION};
    r.k("two", cuMemRangeGetAttributes(data, sizes, kinds, 2, m, m.n));
    r.k("mostly", mostly);
    r.k("preferred", preferred);
    r.k("none", cuMemRangeGetAttributes(data, sizes, kinds, 0, m, m.n));
    r.k("null_data", cuMemRangeGetAttributes(nullptr, sizes, kinds, 2, m, m.n));
    r.k("null_sizes", cuMemRangeGetAttributes(data, nullptr, kinds, 2, m, m.n));
    r.k("null_kinds", cuMemRangeGetAttributes(data, sizes, nullptr, 2, m, m.n));
    kinds[1] = static_cast<CUmem_range_attribute>(77);
    mostly = 99;
    r.k("one_bad", cuMemRangeGetAttributes(data, sizes, kinds, 2, m, m.n));
    r.k("first_written", mostly != 99);
  });
  add("managed.prefetch_seen", [](Rec& r) {
    Managed m;
    Stream s(NB);
    OK(cuMemPrefetchAsync(m, m.n, device(), 0, s));
    OK(cuStreamSynchronize(s));
    rec_range(r, "device", m, m.n);
    OK(cuMemPrefetchAsync(m, m.n, host(), 0, s));
    OK(cuStreamSynchronize(s));
    rec_range(r, "host", m, m.n);
  });
  add("managed.prefetch_places", [](Rec& r) {
    Managed m;
    Stream s(NB);
    r.k("nowhere", cuMemPrefetchAsync(m, m.n, place(CU_MEM_LOCATION_TYPE_INVALID), 0, s));
    r.k("host_id7", cuMemPrefetchAsync(m, m.n, place(CU_MEM_LOCATION_TYPE_HOST, 7), 0, s));
    r.k("numa0", cuMemPrefetchAsync(m, m.n, place(CU_MEM_LOCATION_TYPE_HOST_NUMA, 0), 0, s));
    rec_range(r, "after_numa0", m, m.n);
    r.k("numa99", cuMemPrefetchAsync(m, m.n, place(CU_MEM_LOCATION_TYPE_HOST_NUMA, 99), 0, s));
    r.k("numa_current",
        cuMemPrefetchAsync(m, m.n, place(CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT), 0, s));
    r.k("negative", cuMemPrefetchAsync(m, m.n, place(CU_MEM_LOCATION_TYPE_DEVICE, -1), 0, s));
    r.k("unaligned", cuMemPrefetchAsync(m + 100, 10, device(), 0, s));
    r.k("null", cuMemPrefetchAsync(0, 4096, device(), 0, s));
    r.k("legacy", cuMemPrefetchAsync(m, m.n, device(), 0, LEGACY));
    OK(cuCtxSynchronize());
  });
  add("managed.prefetch_part", [](Rec& r) {
    Managed m(4 << 20);
    Stream s(NB);
    OK(cuMemPrefetchAsync(m, m.n / 2, device(), 0, s));
    OK(cuStreamSynchronize(s));
    rec_range(r, "front", m, m.n / 2);
    rec_range(r, "whole", m, m.n);
  });
  add("managed.in_capture", [](Rec& r) {
    Managed m;
    Stream s(NB);
    int value = 0;
    rec_in_capture(r, "advise",
                   [&] { return cuMemAdvise(m, m.n, CU_MEM_ADVISE_SET_READ_MOSTLY, device()); });
    rec_in_capture(r, "range", [&] {
      return cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m, m.n);
    });
    begin(s);
    r.k("prefetch", cuMemPrefetchAsync(m, m.n, device(), 0, s));
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
  });
  add("managed.ranges_in_capture", [](Rec& r) {
    Managed m;
    int mostly = 0, preferred = 0;
    void* data[2] = {&mostly, &preferred};
    size_t sizes[2] = {4, 4};
    CUmem_range_attribute kinds[2] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                      CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION};
    rec_in_capture(r, "ranges",
                   [&] { return cuMemRangeGetAttributes(data, sizes, kinds, 2, m, m.n); });
  });
  add("managed.free_memory", ISO, [](Rec& r) {
    // Large enough to stand out from the driver's own allocations, and no larger: a busy host takes
    // seconds to create the pages.
    constexpr size_t kBytes = 128 << 20;
    const auto free_now = [] {
      size_t free = 0, total = 0;
      OK(cuMemGetInfo(&free, &total));
      return static_cast<long long>(free);
    };
    // The free memory is the whole device's, which other processes change occasionally: most of a
    // few rounds are undisturbed.
    constexpr int kRounds = 5;
    constexpr long long kHalf = kBytes / 2;
    std::array<int, 6> taken{};
    Stream s(NB);
    for (int round = 0; round < kRounds; ++round) {
      const long long at_first = free_now();
      auto look = [&, step = taken.begin()]() mutable {
        *step++ += at_first - free_now() >= kHalf ? 1 : 0;
      };
      CUdeviceptr m = 0;
      OK(cuMemAllocManaged(&m, kBytes, CU_MEM_ATTACH_GLOBAL));
      look();
      memset(reinterpret_cast<void*>(m), 1, kBytes);
      look();
      OK(cuMemPrefetchAsync(m, kBytes, device(), 0, s));
      OK(cuStreamSynchronize(s));
      look();
      OK(cuMemPrefetchAsync(m, kBytes, host(), 0, s));
      OK(cuStreamSynchronize(s));
      look();
      OK(cuMemsetD8(m, 2, kBytes));
      OK(cuCtxSynchronize());
      look();
      OK(cuMemFree(m));
      look();
    }
    const char* const when[] = {
        "taken_when_made",        "taken_when_the_host_wrote",   "taken_on_the_device",
        "taken_back_on_the_host", "taken_when_the_device_wrote", "taken_when_freed"};
    for (size_t i = 0; i < taken.size(); ++i) r.k(when[i], taken[i] > kRounds / 2);
  });
}

}  // namespace weir::conformance
