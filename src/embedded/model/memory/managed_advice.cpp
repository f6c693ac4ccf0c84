// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/managed_advice.cpp - stores advice as intervals of pages with equal advice.
#include "embedded/model/memory/managed_advice.hpp"

#include <algorithm>
#include <bitset>
#include <iterator>
#include <map>
#include <mutex>
#include <unordered_map>

#include "embedded/model/core/device.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/memory/physical_memory.hpp"

namespace weir::embedded::model::managed_advice {

using namespace abi;

namespace {

constexpr std::size_t page_size = 4096;

constexpr std::size_t host_accessor = 64;  // a process has at most 64 devices

// The advice on a page.
struct page_advice {
  bool read_mostly = false;
  CUmemLocation preferred = no_location;
  CUmemLocation prefetched_to = no_location;
  // The device whose memory the page counts against; null if none.
  device* charged_device = nullptr;
  // A bit for the ordinal of each device, and the bit host_accessor for the host.
  std::bitset<host_accessor + 1> accessed_by;
};

// Intervals of pages, by the index of their first page. The first interval begins at page 0. Each
// interval ends where the next one begins. The last interval has no end and lies after the memory.
using intervals = std::map<std::size_t, page_advice>;

// The intervals of each allocation, by its ID. Allocations without advice have no entry. Never
// destroyed, because destructors of static objects may still free memory.
struct advice_registry {
  std::mutex mutex;
  std::unordered_map<unsigned long long, intervals> advice_by_allocation;
};

advice_registry& advised_memory() {
  static advice_registry& created = *new advice_registry;
  return created;
}

struct page_range {
  std::size_t first, last;  // past the last page
};

// Returns the pages of the allocation that the bytes touch.
page_range pages_of(const allocation& memory, std::uintptr_t address, std::size_t bytes) {
  const std::size_t offset = address - memory.start();
  return {offset / page_size, (offset + bytes + page_size - 1) / page_size};
}

// Splits an interval if needed, so that an interval begins at this page. Returns that interval.
intervals::iterator split(intervals& advice_by_page, std::size_t page) {
  const auto next = advice_by_page.upper_bound(page);
  const auto holder = std::prev(next);
  return holder->first == page ? holder : advice_by_page.emplace_hint(next, page, holder->second);
}

// Returns the bytes of an interval. Must not be called for the last interval, which has no end.
std::size_t bytes_of(intervals::const_iterator interval) {
  return (std::next(interval)->first - interval->first) * page_size;
}

// Changes the advice on all pages that the bytes touch, or throws and changes none. Calls
// apply(advice, bytes) for each interval of these pages, which must not throw.
template <class Change>
void change_pages(const allocation& memory, std::uintptr_t address, std::size_t bytes,
                  Change&& apply) {
  const page_range touched = pages_of(memory, address, bytes);
  const std::lock_guard lock{advised_memory().mutex};
  auto found = advised_memory().advice_by_allocation.find(memory.id);
  if (found == advised_memory().advice_by_allocation.end())
    found = advised_memory()
                .advice_by_allocation.emplace(memory.id, intervals{{0, page_advice{}}})
                .first;
  intervals& advice_by_page = found->second;
  split(advice_by_page, touched.first);
  const auto end = split(advice_by_page, touched.last);
  const auto begin = advice_by_page.find(touched.first);
  for (auto interval = begin; interval != end; ++interval)
    apply(interval->second, bytes_of(interval));
}

// Returns the bit of a device or the host in page_advice::accessed_by.
std::size_t accessor_of(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? static_cast<std::size_t>(location.id)
                                                      : host_accessor;
}

// Keeps in `common` only the advice that `added` has, too.
void merge(page_advice& common, const page_advice& added) {
  common.read_mostly = common.read_mostly && added.read_mostly;
  if (!same_location(common.preferred, added.preferred)) common.preferred = no_location;
  if (!same_location(common.prefetched_to, added.prefetched_to)) common.prefetched_to = no_location;
  common.accessed_by &= added.accessed_by;
}

// Returns the advice that all pages have in common.
page_advice common_advice(const allocation& memory, const page_range& requested) {
  const std::lock_guard lock{advised_memory().mutex};
  const auto found = advised_memory().advice_by_allocation.find(memory.id);
  if (found == advised_memory().advice_by_allocation.end()) return {};
  const intervals& advice_by_page = found->second;
  auto interval = std::prev(advice_by_page.upper_bound(requested.first));
  page_advice common = interval->second;
  while (++interval != advice_by_page.end() && interval->first < requested.last)
    merge(common, interval->second);
  return common;
}

// Returns a location as one number: a device, the host, or CU_DEVICE_INVALID.
int device_number_of(const CUmemLocation& location) {
  if (location.type == CU_MEM_LOCATION_TYPE_INVALID) return CU_DEVICE_INVALID;
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : CU_DEVICE_CPU;
}

// Returns true if advice with this preferred location has an effect. An H200 accepts a host node as
// preferred location, but keeps the previous location.
bool is_stored(const CUmemLocation& preferred) {
  return preferred.type == CU_MEM_LOCATION_TYPE_DEVICE ||
         preferred.type == CU_MEM_LOCATION_TYPE_HOST;
}

}  // namespace

void advise(const allocation& memory, std::uintptr_t address, std::size_t bytes,
            CUmem_advise advice, const CUmemLocation& location) {
  change_pages(memory, address, bytes, [&](page_advice& page, std::size_t) {
    switch (advice) {
      case CU_MEM_ADVISE_SET_READ_MOSTLY: page.read_mostly = true; break;
      case CU_MEM_ADVISE_UNSET_READ_MOSTLY: page.read_mostly = false; break;
      case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
        if (is_stored(location)) page.preferred = location;
        break;
      case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION: page.preferred = no_location; break;
      case CU_MEM_ADVISE_SET_ACCESSED_BY: page.accessed_by[accessor_of(location)] = true; break;
      case CU_MEM_ADVISE_UNSET_ACCESSED_BY: page.accessed_by[accessor_of(location)] = false; break;
    }
  });
}

void record_prefetch(const allocation& memory, std::uintptr_t address, std::size_t bytes,
                     const CUmemLocation& location) {
  device* const destination_device = location.type == CU_MEM_LOCATION_TYPE_DEVICE
                                         ? this_process().find_device(location.id)
                                         : nullptr;
  change_pages(memory, address, bytes, [&](page_advice& page, std::size_t count) {
    page.prefetched_to = location;
    if (destination_device == nullptr || destination_device == page.charged_device) return;
    if (page.charged_device != nullptr) page.charged_device->subtract_managed_bytes(count);
    page.charged_device = destination_device;
    destination_device->add_managed_bytes(count);
  });
}

void query(const allocation& memory, std::uintptr_t address, std::size_t bytes,
           CUmem_range_attribute attribute, std::span<int> out) {
  const page_advice common = common_advice(memory, pages_of(memory, address, bytes));
  switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY: out[0] = common.read_mostly ? 1 : 0; break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
      out[0] = device_number_of(common.preferred);
      break;
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY: {
      // Devices in the order of their ordinals; the host is last.
      std::size_t count = 0;
      for (std::size_t i = 0; i <= host_accessor && count < out.size(); ++i) {
        if (common.accessed_by[i])
          out[count++] = i != host_accessor ? static_cast<CUdevice>(i) : CU_DEVICE_CPU;
      }
      std::ranges::fill(out.subspan(count), CU_DEVICE_INVALID);
      break;
    }
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
      out[0] = device_number_of(common.prefetched_to);
      break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
      out[0] = static_cast<int>(common.preferred.type);
      break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID: out[0] = common.preferred.id; break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
      out[0] = static_cast<int>(common.prefetched_to.type);
      break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID: out[0] = common.prefetched_to.id; break;
  }
}

void forget(const allocation& memory) noexcept {
  const std::lock_guard lock{advised_memory().mutex};
  const auto found = advised_memory().advice_by_allocation.find(memory.id);
  if (found == advised_memory().advice_by_allocation.end()) return;
  for (auto interval = found->second.cbegin(); interval != found->second.cend(); ++interval) {
    if (device* const target_device = interval->second.charged_device; target_device != nullptr)
      target_device->subtract_managed_bytes(bytes_of(interval));
  }
  advised_memory().advice_by_allocation.erase(found);
}

}  // namespace weir::embedded::model::managed_advice
