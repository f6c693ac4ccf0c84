// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/allocation_cache.hpp - a thread's cache of recently found allocations.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weir::embedded::model {

struct allocation;

// A thread's cache of pointers to allocation records. Records are never freed, but may be reused
// for other allocations. The caller must check that a cached record holds the address.
struct allocation_cache {
  // Returns the entry for an address. The shift by 9 removes the bits below the distance of blocks,
  // which is at least 512 bytes. The multiplication is a hash: it spreads regularly spaced
  // addresses over the 64 entries.
  [[nodiscard]] allocation*& slot_for(std::uintptr_t address) noexcept {
    return by_address[static_cast<std::size_t>((address >> 9) * 0x9e37'79b9'7f4a'7c15u >> 58)];
  }

  // The record that was found last, or null.
  allocation* last = nullptr;
  std::array<allocation*, 64> by_address{};
};

}  // namespace weir::embedded::model
