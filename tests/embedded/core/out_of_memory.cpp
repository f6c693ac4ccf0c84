// SPDX-License-Identifier: Apache-2.0
// out_of_memory.cpp - replaces operator new so that a test can make it throw.
#include "out_of_memory.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

constexpr int unlimited = -1;
thread_local int allocations_left = unlimited;

void* allocate_or_null(std::size_t bytes, std::size_t alignment) noexcept {
  if (allocations_left == 0) return nullptr;
  if (allocations_left != unlimited) --allocations_left;
  void* block = nullptr;
  return posix_memalign(&block, alignment, bytes != 0 ? bytes : 1) == 0 ? block : nullptr;
}

void* allocate(std::size_t bytes, std::size_t alignment) {
  void* const block = allocate_or_null(bytes, alignment);
  if (block == nullptr) throw std::bad_alloc{};
  return block;
}

}  // namespace

// All forms are replaced, including the nothrow and array forms. A sanitizer replaces each form it
// finds missing: that form would never throw, and free() could not release its blocks.
void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate_or_null(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate_or_null(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes) { return ::operator new(bytes); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return ::operator new(bytes, alignment);
}
void* operator new[](std::size_t bytes, const std::nothrow_t& none) noexcept {
  return ::operator new(bytes, none);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment,
                     const std::nothrow_t& none) noexcept {
  return ::operator new(bytes, alignment, none);
}

void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(block);
}
void operator delete[](void* block) noexcept { std::free(block); }
void operator delete[](void* block, std::size_t) noexcept { std::free(block); }
void operator delete[](void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete[](void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }
void operator delete[](void* block, const std::nothrow_t&) noexcept { std::free(block); }
void operator delete[](void* block, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(block);
}

namespace weir::embedded {

out_of_memory::out_of_memory(int after) noexcept { allocations_left = after; }
out_of_memory::~out_of_memory() { allocations_left = unlimited; }

}  // namespace weir::embedded
