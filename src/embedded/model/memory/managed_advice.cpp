// SPDX-License-Identifier: Apache-2.0
// model/memory/managed_advice.cpp - stores advice as intervals of pages with equal advice.
#include "embedded/model/memory/managed_advice.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "embedded/model/core/device.hpp"
#include "embedded/model/core/process.hpp"

namespace weir::embedded::model::managed_advice {

using namespace abi;

namespace {

constexpr std::size_t page_size = 4096;

// The advice on a page.
struct page_advice {
  bool read_mostly = false;
  CUmemLocation preferred = no_location;
  CUmemLocation prefetched_to = no_location;
  device* counted_on = nullptr;       // the device whose memory it counts against since a prefetch
  std::vector<CUdevice> accessed_by;  // CU_DEVICE_CPU for the host
};

// Intervals by their first page, from 0 on; each extends to the next.
using intervals = std::map<std::size_t, page_advice>;

// Intervals by allocation ID; allocations without advice have no entry. Never destroyed, because
// memory may be freed very late.
struct advice_registry {
  std::mutex mutex;
  std::unordered_map<unsigned long long, intervals> advice_by_allocation;
};

advice_registry& all() {
  static advice_registry& created = *new advice_registry;
  return created;
}

struct page_range {
  std::size_t first, last;  // past the last page
};

page_range pages_of(const allocation& memory, std::uintptr_t address, std::size_t bytes) {
  const std::size_t offset = address - memory.start();
  return {offset / page_size, (offset + bytes + page_size - 1) / page_size};
}

// Makes an interval begin at a page.
intervals::iterator split(intervals& advice_by_page, std::size_t at) {
  const auto next = advice_by_page.upper_bound(at);
  const auto holder = std::prev(next);
  return holder->first == at ? holder : advice_by_page.emplace_hint(next, at, holder->second);
}

// Returns the bytes of an interval. Not for the last one, which lies after the memory.
std::size_t bytes_of(intervals::const_iterator of) {
  return (std::next(of)->first - of->first) * page_size;
}

// For all intervals of the pages, first calls prepare_one(advice), which may throw and makes no
// visible change. Then calls change_one(advice, bytes), which must not throw. Either all pages
// change or none.
template <class Prepare, class Change>
void change(const allocation& memory, std::uintptr_t address, std::size_t bytes,
            Prepare&& prepare_one, Change&& change_one) {
  const page_range touched = pages_of(memory, address, bytes);
  advice_registry& advised_memory = all();
  const std::lock_guard lock{advised_memory.mutex};
  auto found = advised_memory.advice_by_allocation.find(memory.id);
  if (found == advised_memory.advice_by_allocation.end())
    found =
        advised_memory.advice_by_allocation.emplace(memory.id, intervals{{0, page_advice{}}}).first;
  intervals& advice_by_page = found->second;
  split(advice_by_page, touched.first);
  const auto end = split(advice_by_page, touched.last);
  const auto begin = advice_by_page.find(touched.first);
  for (auto each = begin; each != end; ++each) prepare_one(each->second);
  for (auto each = begin; each != end; ++each) change_one(each->second, bytes_of(each));
}

CUdevice number_of(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : CU_DEVICE_CPU;
}

bool is_same(const CUmemLocation& one, const CUmemLocation& other) {
  return one.type == other.type && one.id == other.id;
}

// Orders devices by ordinal, with the host last.
std::vector<CUdevice>::const_iterator insert_position(const std::vector<CUdevice>& devices,
                                                      CUdevice added) {
  return std::ranges::find_if(devices, [&](CUdevice each) {
    return each == CU_DEVICE_CPU || (added != CU_DEVICE_CPU && each > added);
  });
}

void merge(page_advice& common, const page_advice& other) {
  common.read_mostly = common.read_mostly && other.read_mostly;
  if (!is_same(common.preferred, other.preferred)) common.preferred = no_location;
  if (!is_same(common.prefetched_to, other.prefetched_to)) common.prefetched_to = no_location;
  std::erase_if(common.accessed_by, [&](CUdevice one) {
    return std::ranges::find(other.accessed_by, one) == other.accessed_by.end();
  });
}

page_advice common_advice(const allocation& memory, const page_range& requested) {
  advice_registry& advised_memory = all();
  const std::lock_guard lock{advised_memory.mutex};
  const auto found = advised_memory.advice_by_allocation.find(memory.id);
  if (found == advised_memory.advice_by_allocation.end()) return {};
  const intervals& advice_by_page = found->second;
  auto each = std::prev(advice_by_page.upper_bound(requested.first));
  page_advice common = each->second;
  while (++each != advice_by_page.end() && each->first < requested.last)
    merge(common, each->second);
  return common;
}

// Returns a location as one number: a device, the host, or CU_DEVICE_INVALID.
int as_device(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_INVALID ? CU_DEVICE_INVALID : number_of(location);
}

// An H200 accepts a host node as preferred location, but keeps the previous location.
bool is_remembered(const CUmemLocation& preferred) {
  return preferred.type == CU_MEM_LOCATION_TYPE_DEVICE ||
         preferred.type == CU_MEM_LOCATION_TYPE_HOST;
}

}  // namespace

void advise(const allocation& memory, std::uintptr_t address, std::size_t bytes,
            CUmem_advise advice, const CUmemLocation& location) {
  const auto make_room = [&](page_advice& of) {
    if (advice == CU_MEM_ADVISE_SET_ACCESSED_BY) of.accessed_by.reserve(of.accessed_by.size() + 1);
  };
  change(memory, address, bytes, make_room, [&](page_advice& of, std::size_t) {
    switch (advice) {
      case CU_MEM_ADVISE_SET_READ_MOSTLY: of.read_mostly = true; break;
      case CU_MEM_ADVISE_UNSET_READ_MOSTLY: of.read_mostly = false; break;
      case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
        if (is_remembered(location)) of.preferred = location;
        break;
      case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION: of.preferred = no_location; break;
      case CU_MEM_ADVISE_SET_ACCESSED_BY:
        std::erase(of.accessed_by, number_of(location));
        of.accessed_by.insert(insert_position(of.accessed_by, number_of(location)),
                              number_of(location));
        break;
      case CU_MEM_ADVISE_UNSET_ACCESSED_BY: std::erase(of.accessed_by, number_of(location)); break;
    }
  });
}

void record_prefetch(const allocation& memory, std::uintptr_t address, std::size_t bytes,
                     const CUmemLocation& location) {
  device* const destination_device = location.type == CU_MEM_LOCATION_TYPE_DEVICE
                                         ? this_process().find_device(location.id)
                                         : nullptr;
  const auto nothing = [](page_advice&) {};
  change(memory, address, bytes, nothing, [&](page_advice& of, std::size_t count) {
    of.prefetched_to = location;
    if (destination_device == nullptr || destination_device == of.counted_on) return;
    if (of.counted_on != nullptr) of.counted_on->subtract_managed_bytes(count);
    of.counted_on = destination_device;
    destination_device->add_managed_bytes(count);
  });
}

void query(const allocation& memory, std::uintptr_t address, std::size_t bytes,
           CUmem_range_attribute attribute, std::span<int> out) {
  const page_advice common = common_advice(memory, pages_of(memory, address, bytes));
  switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY: out[0] = common.read_mostly ? 1 : 0; break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION: out[0] = as_device(common.preferred); break;
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY: {
      std::ranges::fill(out, CU_DEVICE_INVALID);
      const std::size_t count = std::min(out.size(), common.accessed_by.size());
      std::copy_n(common.accessed_by.begin(), count, out.begin());
      break;
    }
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
      out[0] = as_device(common.prefetched_to);
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
  advice_registry& advised_memory = all();
  const std::lock_guard lock{advised_memory.mutex};
  const auto found = advised_memory.advice_by_allocation.find(memory.id);
  if (found == advised_memory.advice_by_allocation.end()) return;
  for (auto each = found->second.cbegin(); each != found->second.cend(); ++each) {
    if (device* const target_device = each->second.counted_on; target_device != nullptr)
      target_device->subtract_managed_bytes(bytes_of(each));
  }
  advised_memory.advice_by_allocation.erase(found);
}

}  // namespace weir::embedded::model::managed_advice
