// model/managed_advice.cpp - what was said of pages, as intervals of pages of which the same was
// said.
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

// What was said of a page.
struct page_advice {
  bool read_mostly = false;
  CUmemLocation preferred = no_location;
  CUmemLocation prefetched_to = no_location;
  device* counted_on = nullptr;       // where it takes of a device's memory, once it was there
  std::vector<CUdevice> accessed_by;  // CU_DEVICE_CPU for the host
};

// By the number of the first page, from 0 on; each holds up to the next one.
using intervals = std::map<std::size_t, page_advice>;

// By the id of the allocation; what nothing was said of is not there. Never destroyed: memory may
// be freed very late.
struct advice_registry {
  std::mutex mutex;
  std::unordered_map<unsigned long long, intervals> advice_by_allocation;
};

advice_registry& all() {
  static advice_registry& made = *new advice_registry;
  return made;
}

struct page_range {
  std::size_t first, last;  // one behind
};

page_range pages_of(const allocation& memory, std::uintptr_t address, std::size_t bytes) {
  const std::size_t offset = address - memory.start();
  return {offset / page_size, (offset + bytes + page_size - 1) / page_size};
}

// Makes an interval begin at a page.
intervals::iterator split(intervals& in, std::size_t at) {
  const auto next = in.upper_bound(at);
  const auto holder = std::prev(next);
  return holder->first == at ? holder : in.emplace_hint(next, at, holder->second);
}

// The interval's bytes; not of the last one, which is behind the memory.
std::size_t bytes_of(intervals::const_iterator of) {
  return (std::next(of)->first - of->first) * page_size;
}

// Calls prepare_one(facts), which may throw and changes nothing that can be seen, for what is said
// of all of the pages, and then change_one(facts, bytes), which does not throw: all of it is said,
// or nothing.
template <class Prepare, class Change>
void change(const allocation& memory, std::uintptr_t address, std::size_t bytes,
            Prepare&& prepare_one, Change&& change_one) {
  const page_range touched = pages_of(memory, address, bytes);
  advice_registry& known = all();
  const std::lock_guard lock{known.mutex};
  auto found = known.advice_by_allocation.find(memory.id);
  if (found == known.advice_by_allocation.end())
    found = known.advice_by_allocation.emplace(memory.id, intervals{{0, page_advice{}}}).first;
  intervals& in = found->second;
  split(in, touched.first);
  const auto end = split(in, touched.last);
  const auto begin = in.find(touched.first);
  for (auto each = begin; each != end; ++each) prepare_one(each->second);
  for (auto each = begin; each != end; ++each) change_one(each->second, bytes_of(each));
}

CUdevice number_of(const CUmemLocation& where) {
  return where.type == CU_MEM_LOCATION_TYPE_DEVICE ? where.id : CU_DEVICE_CPU;
}

bool is_same(const CUmemLocation& one, const CUmemLocation& other) {
  return one.type == other.type && one.id == other.id;
}

// In the order of their numbers; the host is the last.
std::vector<CUdevice>::const_iterator insert_position(const std::vector<CUdevice>& of,
                                                      CUdevice added) {
  return std::ranges::find_if(of, [&](CUdevice each) {
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

page_advice common_advice(const allocation& memory, const page_range& asked) {
  advice_registry& known = all();
  const std::lock_guard lock{known.mutex};
  const auto found = known.advice_by_allocation.find(memory.id);
  if (found == known.advice_by_allocation.end()) return {};
  const intervals& in = found->second;
  auto each = std::prev(in.upper_bound(asked.first));
  page_advice common = each->second;
  while (++each != in.end() && each->first < asked.last) merge(common, each->second);
  return common;
}

// A place as one number: a device, the host, or nothing.
int as_device(const CUmemLocation& where) {
  return where.type == CU_MEM_LOCATION_TYPE_INVALID ? CU_DEVICE_INVALID : number_of(where);
}

// An H200 takes a node of the host for a preferred location, and stays with what it knew.
bool is_remembered(const CUmemLocation& preferred) {
  return preferred.type == CU_MEM_LOCATION_TYPE_DEVICE ||
         preferred.type == CU_MEM_LOCATION_TYPE_HOST;
}

}  // namespace

void advise(const allocation& memory, std::uintptr_t address, std::size_t bytes,
            CUmem_advise advice, const CUmemLocation& where) {
  const auto make_room = [&](page_advice& of) {
    if (advice == CU_MEM_ADVISE_SET_ACCESSED_BY) of.accessed_by.reserve(of.accessed_by.size() + 1);
  };
  change(memory, address, bytes, make_room, [&](page_advice& of, std::size_t) {
    switch (advice) {
      case CU_MEM_ADVISE_SET_READ_MOSTLY: of.read_mostly = true; break;
      case CU_MEM_ADVISE_UNSET_READ_MOSTLY: of.read_mostly = false; break;
      case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
        if (is_remembered(where)) of.preferred = where;
        break;
      case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION: of.preferred = no_location; break;
      case CU_MEM_ADVISE_SET_ACCESSED_BY:
        std::erase(of.accessed_by, number_of(where));
        of.accessed_by.insert(insert_position(of.accessed_by, number_of(where)), number_of(where));
        break;
      case CU_MEM_ADVISE_UNSET_ACCESSED_BY: std::erase(of.accessed_by, number_of(where)); break;
    }
  });
}

void record_prefetch(const allocation& memory, std::uintptr_t address, std::size_t bytes,
                     const CUmemLocation& where) {
  device* const to =
      where.type == CU_MEM_LOCATION_TYPE_DEVICE ? this_process().find_device(where.id) : nullptr;
  const auto nothing = [](page_advice&) {};
  change(memory, address, bytes, nothing, [&](page_advice& of, std::size_t count) {
    of.prefetched_to = where;
    if (to == nullptr || to == of.counted_on) return;
    if (of.counted_on != nullptr) of.counted_on->subtract_managed_bytes(count);
    of.counted_on = to;
    to->add_managed_bytes(count);
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
  advice_registry& known = all();
  const std::lock_guard lock{known.mutex};
  const auto found = known.advice_by_allocation.find(memory.id);
  if (found == known.advice_by_allocation.end()) return;
  for (auto each = found->second.cbegin(); each != found->second.cend(); ++each) {
    if (device* const on = each->second.counted_on; on != nullptr)
      on->subtract_managed_bytes(bytes_of(each));
  }
  known.advice_by_allocation.erase(found);
}

}  // namespace weir::embedded::model::managed_advice
