// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/address_ranges.hpp - reserved ranges and their mappings; internal to
// address_space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <shared_mutex>
#include <vector>

#include "driver/abi.hpp"
#include "embedded/model/memory/allocation.hpp"
#include "embedded/model/memory/physical_memory.hpp"

namespace weir::embedded::model::address_space {

// A mapping of one whole physical allocation at a range of addresses.
struct mapping {
  physical_memory* memory = nullptr;
  std::size_t bytes = 0;
  allocation* record = nullptr;  // in the address map
  std::vector<abi::CUmemAccessDesc> access{};
};

// A reserved range of addresses, with its mappings by start address.
struct range {
  std::size_t bytes = 0;
  std::map<std::uintptr_t, mapping> mapped;
};

using ranges_by_start = std::map<std::uintptr_t, range>;

// All reserved ranges; `mutex` guards them. Never destroyed, because mapped memory may be used
// until the process ends.
struct reservations {
  std::shared_mutex mutex;
  ranges_by_start ranges;
};

reservations& reserved();

// Returns true if [start_address, start_address + bytes) is not empty and does not wrap around.
[[nodiscard]] inline bool is_valid_range(std::uintptr_t start_address, std::size_t bytes) {
  return start_address + bytes > start_address;
}

// Returns the entry of a map that contains an address, or end(). The keys are start addresses; the
// values have a length `bytes`.
template <class Map>
auto find_containing(Map& objects, std::uintptr_t address) {
  auto next = objects.upper_bound(address);
  if (next == objects.begin()) return objects.end();
  auto before = std::prev(next);
  return address - before->first < before->second.bytes ? before : objects.end();
}

// Returns the mapping that contains an address, or null. The caller holds reservations::mutex.
mapping* mapping_at(ranges_by_start& ranges, std::uintptr_t address);

using mapping_iterator = std::map<std::uintptr_t, mapping>::iterator;

// The result of mappings_in(): the mappings that start in the requested part of a range, as
// iterators to the first and past the last.
struct mappings {
  mapping_iterator first, last;
  bool whole = true;    // no mapping extends beyond the part
  bool gapless = true;  // the mappings cover the whole part

  [[nodiscard]] auto begin() const { return first; }
  [[nodiscard]] auto end() const { return last; }
};

// Returns the mappings in [start_address, start_address + bytes) of a range. The caller holds
// reservations::mutex.
mappings mappings_in(range& containing_range, std::uintptr_t start_address, std::size_t bytes);

}  // namespace weir::embedded::model::address_space
