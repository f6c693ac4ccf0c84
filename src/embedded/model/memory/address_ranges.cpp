// model/address_ranges.cpp - finding what is reserved and mapped.
#include "embedded/model/memory/address_ranges.hpp"

namespace weir::embedded::model::address_space {

reservations& all() {
  static reservations& made = *new reservations;
  return made;
}

mapping* mapping_at(ranges_by_start& in, std::uintptr_t at) {
  const auto around = find_containing(in, at);
  if (around == in.end()) return nullptr;
  const auto found = find_containing(around->second.mapped, at);
  return found == around->second.mapped.end() ? nullptr : &found->second;
}

mappings mappings_in(range& in, std::uintptr_t at, std::size_t bytes) {
  mappings found{in.mapped.lower_bound(at), in.mapped.lower_bound(at + bytes)};
  const auto before = find_containing(in.mapped, at);
  found.whole = before == in.mapped.end() || before == found.first;
  std::uintptr_t next = at;
  for (auto each = found.first; each != found.last; ++each) {
    if (each->first != next) found.gapless = false;
    next = each->first + each->second.bytes;
  }
  if (next > at + bytes) found.whole = false;
  if (next != at + bytes) found.gapless = false;
  return found;
}

}  // namespace weir::embedded::model::address_space
