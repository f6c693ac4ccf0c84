// model/allocation_cache.hpp - where a thread has found the addresses of its last calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weir::embedded::model {

class allocation;

// Records stay where they are for ever, but may become other ones': whoever finds one here asks it
// whether it holds the address.
struct allocation_cache {
  // Neighbouring blocks are 512 bytes apart at least; the multiplication spreads regular distances.
  [[nodiscard]] allocation*& at(std::uintptr_t address) noexcept {
    return by_address[static_cast<std::size_t>((address >> 9) * 0x9e37'79b9'7f4a'7c15u >> 58)];
  }

  allocation* last = nullptr;
  std::array<allocation*, 64> by_address{};
};

}  // namespace weir::embedded::model
