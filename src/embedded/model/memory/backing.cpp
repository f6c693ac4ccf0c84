// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/backing.cpp - heap blocks for small sizes, cached mappings for large or
// shared ones.
#include "embedded/model/memory/backing.hpp"

#include <sys/mman.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <mutex>

#include "embedded/model/core/device.hpp"
#include "embedded/model/ipc/shared_store.hpp"

namespace weir::embedded::model {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

// Smaller blocks come from the heap, because a mapping costs system calls and whole pages.
constexpr std::size_t smallest_mapping = std::size_t{64} << 10;

// Returns the length of the mapping for a block: whole pages, or whole huge pages if the block is
// at least as large as one. An address sanitizer build always adds at least a byte, to detect
// overruns.
constexpr std::size_t mapping_length(std::size_t bytes) noexcept {
  if (os::asan_build) return os::round_up(bytes + 1, os::page_bytes);
  return os::round_up(bytes, bytes >= huge_page ? huge_page : os::page_bytes);
}

// The address sanitizer is not told of blocks of this size or more, because its shadow memory would
// take an eighth of their size.
constexpr std::size_t largest_watched = std::size_t{64} << 30;

bool is_mapped(std::size_t bytes, const shared_store* store) noexcept {
  return store != nullptr || bytes >= (os::asan_build ? largest_watched : smallest_mapping);
}

void unmap(void* address, std::size_t length, shared_store* store) noexcept {
  if (store != nullptr) {
    store->remove_pages(address, length);
  } else {
    munmap(address, length);
  }
}

// Maps new zeroed pages, in the store if there is one. Returns null if the system has none.
void* map_pages(std::size_t length, shared_store* store) noexcept {
  const bool huge = length >= huge_page;
  void* const pages =
      os::map_aligned(length, huge ? huge_page : os::page_bytes, PROT_READ | PROT_WRITE);
  if (pages == nullptr) return nullptr;
  if (store != nullptr && !store->map_pages(pages, length)) {
    munmap(pages, length);
    return nullptr;
  }
  if (huge) madvise(pages, length, MADV_HUGEPAGE);
  return pages;
}

// Caches recently freed mappings. A program that allocates and frees in a loop then reuses touched
// pages and avoids their page faults.
class mapping_cache {
 public:
  // Removes and returns a mapping of this length and store; null if there is none.
  void* take(std::size_t length, const shared_store* store) noexcept {
    const std::lock_guard lock{mutex_};
    for (std::size_t i = count_; i-- > 0;) {
      if (mappings_[i].length == length && mappings_[i].store == store) return remove(i).address;
    }
    return nullptr;
  }

  // Adds a mapping, and unmaps the oldest ones beyond the limits.
  void insert(void* address, std::size_t length, shared_store* store) noexcept {
    if (length > max_bytes) {
      unmap(address, length, store);
      return;
    }
    const std::lock_guard lock{mutex_};
    while (count_ == mappings_.size() || bytes_ + length > max_bytes) {
      const mapping oldest = remove(0);
      unmap(oldest.address, oldest.length, oldest.store);
    }
    mappings_[count_++] = {address, length, store};
    bytes_ += length;
  }

  // Returns all cached mappings to the system.
  void clear() noexcept {
    const std::lock_guard lock{mutex_};
    while (count_ != 0) {
      const mapping last = remove(count_ - 1);
      unmap(last.address, last.length, last.store);
    }
  }

 private:
  struct mapping {
    void* address;
    std::size_t length;
    shared_store* store;
  };
  static constexpr std::size_t max_bytes = std::size_t{256} << 20;

  mapping remove(std::size_t index) noexcept {
    const mapping taken = mappings_[index];
    for (std::size_t i = index + 1; i < count_; ++i) mappings_[i - 1] = mappings_[i];
    --count_;
    bytes_ -= taken.length;
    return taken;
  }

  std::mutex mutex_;
  std::array<mapping, 64> mappings_{};  // oldest first
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

constinit mapping_cache freed_mappings;

void* allocate_mapping(std::size_t bytes, shared_store* store) noexcept {
  const std::size_t length = mapping_length(bytes);
  if constexpr (os::asan_build) {
    auto* fresh = static_cast<std::byte*>(map_pages(length, store));
    if (fresh != nullptr && bytes < largest_watched) os::poison(fresh + bytes, length - bytes);
    return fresh;
  }
  if (void* cached = freed_mappings.take(length, store)) return cached;
  if (void* fresh = map_pages(length, store)) return fresh;
  freed_mappings.clear();  // the cache may hold the memory that the system lacks
  return map_pages(length, store);
}

void free_mapping(void* address, std::size_t bytes, shared_store* store) noexcept {
  const std::size_t length = mapping_length(bytes);
  if constexpr (os::asan_build) {
    if (bytes < largest_watched) os::unpoison(address, length);
    unmap(address, length, store);
  } else {
    freed_mappings.insert(address, length, store);
  }
}

void* allocate_heap_block(std::size_t bytes) noexcept {
  void* block = nullptr;
  return posix_memalign(&block, backing::alignment, bytes) == 0 ? block : nullptr;
}

}  // namespace

backing backing::allocate(std::size_t bytes, device* charged_device, shared_store* store) noexcept {
  constexpr std::size_t largest = std::size_t{1} << 47;  // the address space of today's processors
  if (bytes > largest) return {};
  if (charged_device != nullptr && !charged_device->reserve_memory(bytes)) return {};
  void* address =
      is_mapped(bytes, store) ? allocate_mapping(bytes, store) : allocate_heap_block(bytes);
  if (address == nullptr) {
    if (charged_device != nullptr) charged_device->release_memory(bytes);
    return {};
  }
  backing allocated;
  allocated.block_ = {address, {bytes, charged_device, store}};
  return allocated;
}

void backing::drop_pages(void* address, std::size_t bytes) noexcept {
  if (is_mapped(bytes, nullptr)) madvise(address, mapping_length(bytes), MADV_DONTNEED);
}

void backing::protect(void* address, std::size_t bytes, int protection) noexcept {
  if (is_mapped(bytes, nullptr)) mprotect(address, mapping_length(bytes), protection);
}

void backing::deallocate(void* address, std::size_t bytes, device* charged_device,
                         shared_store* store) noexcept {
  if (is_mapped(bytes, store)) {
    free_mapping(address, bytes, store);
  } else {
    std::free(address);
  }
  if (charged_device != nullptr) charged_device->release_memory(bytes);
}

}  // namespace weir::embedded::model
