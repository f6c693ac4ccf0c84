// model/address_ranges.hpp - what is reserved, and what is mapped there, by address: for the bodies
// of address_space.hpp.
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

// A whole allocation at some addresses.
struct mapping {
  physical_memory* memory = nullptr;
  std::size_t bytes = 0;
  allocation* record = nullptr;  // in the address map
  std::vector<abi::CUmemAccessDesc> access{};
};

struct range {
  std::size_t bytes = 0;
  std::map<std::uintptr_t, mapping> mapped;
};

using ranges_by_start = std::map<std::uintptr_t, range>;

// Everything that is reserved. Never destroyed: what is mapped may be used until the very end.
struct reservations {
  std::shared_mutex mutex;
  ranges_by_start ranges;
};

reservations& all();

// Is [at, at + bytes) not empty, and does it not run past the last address?
[[nodiscard]] inline bool is_valid_range(std::uintptr_t at, std::size_t bytes) {
  return at + bytes > at;
}

// The entry of a map from starts to things with a length that holds an address; end() where there
// is none.
template <class Map>
auto find_containing(Map& things, std::uintptr_t address) {
  auto next = things.upper_bound(address);
  if (next == things.begin()) return things.end();
  auto before = std::prev(next);
  return address - before->first < before->second.bytes ? before : things.end();
}

// Null where nothing is mapped.
mapping* mapping_at(ranges_by_start& in, std::uintptr_t at);

using mapping_iterator = std::map<std::uintptr_t, mapping>::iterator;

// Mappings of a range that lie in [at, at + bytes), which are addresses, from the first up to one
// behind the last.
struct mappings {
  mapping_iterator first, last;
  bool whole = true;    // none goes beyond it
  bool gapless = true;  // they cover all of it

  [[nodiscard]] auto begin() const { return first; }
  [[nodiscard]] auto end() const { return last; }
};

mappings mappings_in(range& in, std::uintptr_t at, std::size_t bytes);

}  // namespace weir::embedded::model::address_space
