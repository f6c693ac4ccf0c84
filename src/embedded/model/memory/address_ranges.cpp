// SPDX-License-Identifier: Apache-2.0
// model/memory/address_ranges.cpp - finds reserved ranges and mappings.
#include "embedded/model/memory/address_ranges.hpp"

namespace weir::embedded::model::address_space {

reservations& all() {
  static reservations& created = *new reservations;
  return created;
}

mapping* mapping_at(ranges_by_start& in, std::uintptr_t start_address) {
  const auto containing_range = find_containing(in, start_address);
  if (containing_range == in.end()) return nullptr;
  const auto found = find_containing(containing_range->second.mapped, start_address);
  return found == containing_range->second.mapped.end() ? nullptr : &found->second;
}

mappings mappings_in(range& in, std::uintptr_t start_address, std::size_t bytes) {
  mappings found{in.mapped.lower_bound(start_address),
                 in.mapped.lower_bound(start_address + bytes)};
  const auto before = find_containing(in.mapped, start_address);
  found.whole = before == in.mapped.end() || before == found.first;
  std::uintptr_t next = start_address;
  for (auto each = found.first; each != found.last; ++each) {
    if (each->first != next) found.gapless = false;
    next = each->first + each->second.bytes;
  }
  if (next > start_address + bytes) found.whole = false;
  if (next != start_address + bytes) found.gapless = false;
  return found;
}

}  // namespace weir::embedded::model::address_space
