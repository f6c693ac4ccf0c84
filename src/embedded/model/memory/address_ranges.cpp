// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/address_ranges.cpp - finds reserved ranges and mappings.
#include "embedded/model/memory/address_ranges.hpp"

namespace weir::embedded::model::address_space {

reservations& reserved() {
  static reservations& created = *new reservations;
  return created;
}

mapping* mapping_at(ranges_by_start& ranges, std::uintptr_t address) {
  const auto found_range = find_containing(ranges, address);
  if (found_range == ranges.end()) return nullptr;
  const auto found = find_containing(found_range->second.mapped, address);
  return found == found_range->second.mapped.end() ? nullptr : &found->second;
}

mappings mappings_in(range& containing_range, std::uintptr_t start_address, std::size_t bytes) {
  mappings found{containing_range.mapped.lower_bound(start_address),
                 containing_range.mapped.lower_bound(start_address + bytes)};
  const auto before = find_containing(containing_range.mapped, start_address);
  found.whole = before == containing_range.mapped.end() || before == found.first;
  std::uintptr_t next = start_address;
  for (auto mapped = found.first; mapped != found.last; ++mapped) {
    if (mapped->first != next) found.gapless = false;
    next = mapped->first + mapped->second.bytes;
  }
  if (next > start_address + bytes) found.whole = false;
  if (next != start_address + bytes) found.gapless = false;
  return found;
}

}  // namespace weir::embedded::model::address_space
