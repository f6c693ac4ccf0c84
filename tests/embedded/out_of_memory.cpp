// out_of_memory.cpp - the program's operator new, which can be told to throw.
#include "out_of_memory.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

constexpr int unlimited = -1;
thread_local int allocations_left = unlimited;

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (allocations_left == 0) throw std::bad_alloc{};
  if (allocations_left != unlimited) --allocations_left;
  void* block = nullptr;
  if (posix_memalign(&block, alignment, bytes != 0 ? bytes : 1) != 0) throw std::bad_alloc{};
  return block;
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
// Those that answer null are replaced, too: an address sanitizer has its own, whose blocks free() would not know.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return allocate(bytes, alignof(std::max_align_t));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* block, const std::nothrow_t&) noexcept { std::free(block); }
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }

namespace weir::embedded {

out_of_memory::out_of_memory(int after) noexcept { allocations_left = after; }
out_of_memory::~out_of_memory() { allocations_left = unlimited; }

}  // namespace weir::embedded
