// SPDX-License-Identifier: Apache-2.0
// os/pages.hpp - sizes rounded to pages, and aligned anonymous mappings.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace weir::os {

inline constexpr std::size_t page_bytes = 4096;

// Returns the smallest multiple of `unit` that is at least `value`.
template <class Number>
constexpr Number round_up(Number value, Number unit) noexcept {
  return (value + unit - 1) / unit * unit;
}

// Whole pages of a file or of the address space.
struct page_span {
  std::size_t offset, bytes;
};

// Returns the pages that contain `bytes` bytes from an offset on.
constexpr page_span pages_around(std::size_t offset, std::size_t bytes) noexcept {
  const std::size_t first = offset / page_bytes * page_bytes;
  return {first, round_up(offset + bytes, page_bytes) - first};
}

// Maps private zeroed pages, which take memory when touched, at a multiple of `alignment`, itself a
// multiple of page_bytes. `protection` is that of mmap(). Returns null if the system has no free
// addresses.
inline void* map_aligned(std::size_t bytes, std::size_t alignment, int protection) noexcept {
  const std::size_t slack = alignment > page_bytes ? alignment : 0;
  std::size_t whole = 0;
  if (__builtin_add_overflow(bytes, slack, &whole)) return nullptr;
  void* const mapped =
      mmap(nullptr, whole, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  // Unmaps the pages before and after the aligned part.
  const auto start = reinterpret_cast<std::uintptr_t>(mapped);
  const std::uintptr_t aligned = round_up(start, alignment);
  if (aligned != start) munmap(mapped, aligned - start);
  const std::size_t rest = start + slack - aligned;
  if (rest != 0) munmap(reinterpret_cast<void*>(aligned + bytes), rest);
  return reinterpret_cast<void*>(aligned);
}

}  // namespace weir::os
