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

// A whole allocation mapped at some addresses.
struct mapping {
  physical_memory* memory = nullptr;
  std::size_t bytes = 0;
  allocation* record = nullptr;  // in the address map
  std::vector<abi::CUmemAccessDesc> access{};
};

// A reserved range, with its mappings by their start.
struct range {
  std::size_t bytes = 0;
  std::map<std::uintptr_t, mapping> mapped;
};

using ranges_by_start = std::map<std::uintptr_t, range>;

// All reserved ranges. Never destroyed, because mapped memory may be used until the process ends.
struct reservations {
  std::shared_mutex mutex;
  ranges_by_start ranges;
};

reservations& all_reservations();

// Returns true if [start_address, start_address + bytes) is not empty and does not wrap around.
[[nodiscard]] inline bool is_valid_range(std::uintptr_t start_address, std::size_t bytes) {
  return start_address + bytes > start_address;
}

// Returns the entry that contains an address, in a map from starts to objects with a length; end()
// if there is none.
template <class Map>
auto find_containing(Map& objects, std::uintptr_t address) {
  auto next = objects.upper_bound(address);
  if (next == objects.begin()) return objects.end();
  auto before = std::prev(next);
  return address - before->first < before->second.bytes ? before : objects.end();
}

// Returns the mapping at an address, or null.
mapping* mapping_at(ranges_by_start& ranges, std::uintptr_t address);

using mapping_iterator = std::map<std::uintptr_t, mapping>::iterator;

// The mappings of a range that lie in a given part of it, as iterators to the first and past the
// last.
struct mappings {
  mapping_iterator first, last;
  bool whole = true;    // no mapping extends beyond the part
  bool gapless = true;  // the mappings cover the whole part

  [[nodiscard]] auto begin() const { return first; }
  [[nodiscard]] auto end() const { return last; }
};

// Returns the mappings in [start_address, start_address + bytes) of a range.
mappings mappings_in(range& containing_range, std::uintptr_t start_address, std::size_t bytes);

}  // namespace weir::embedded::model::address_space
