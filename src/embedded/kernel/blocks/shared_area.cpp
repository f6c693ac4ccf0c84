// SPDX-License-Identifier: Apache-2.0
// kernel/blocks/shared_area.cpp - mapping the shared memory of blocks.
#include "embedded/kernel/blocks/shared_area.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace weir::embedded::kernel {

namespace {

constexpr std::size_t alignment = 128;
constexpr std::size_t usual = std::size_t{64} << 10;  // more than most ever need

std::size_t page_bytes() noexcept { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

shared_area::~shared_area() {
  if (mapped_ != nullptr) ::munmap(mapped_, bytes_ + page_bytes());
}

unsigned char* shared_area::of(std::size_t bytes) {
  const std::size_t needed = (bytes + alignment - 1) / alignment * alignment;
  if (mapped_ == nullptr || needed > bytes_) {
    std::size_t size = usual;
    while (size < needed) size *= 2;
    void* const made = ::mmap(nullptr, size + page_bytes(), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) throw std::bad_alloc{};
    if (mapped_ != nullptr) ::munmap(mapped_, bytes_ + page_bytes());
    mapped_ = static_cast<std::byte*>(made);
    bytes_ = size;
    ::mprotect(mapped_ + bytes_, page_bytes(), PROT_NONE);
  }
  return reinterpret_cast<unsigned char*>(mapped_ + bytes_ - needed);
}

}  // namespace weir::embedded::kernel
