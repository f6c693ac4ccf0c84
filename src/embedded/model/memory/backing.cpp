// SPDX-License-Identifier: Apache-2.0
// model/memory/backing.cpp - heap blocks for small sizes, cached mappings for large or shared ones.
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

constexpr std::size_t round_to_page(std::size_t bytes, std::size_t unit) noexcept {
  return (bytes + unit - 1) / unit * unit;
}

// Returns the mapping's length for a block: whole pages, or whole huge pages if it has that size.
// An address sanitizer build always adds at least a byte, to detect overruns.
constexpr std::size_t mapping_length(std::size_t bytes) noexcept {
  if (asan_build) return round_to_page(bytes + 1, 4096);
  return round_to_page(bytes, bytes >= huge_page ? huge_page : 4096);
}

// Larger blocks are not reported to the sanitizer, because its shadow would take an eighth of their
// size.
constexpr std::size_t largest_watched = std::size_t{64} << 30;

bool is_mapped(std::size_t bytes, const shared_store* in) noexcept {
  return in != nullptr || bytes >= (asan_build ? largest_watched : smallest_mapping);
}

void unmap(void* at, std::size_t length, shared_store* in) noexcept {
  if (in != nullptr) {
    in->remove(at, length);
  } else {
    munmap(at, length);
  }
}

void* map_pages(std::size_t length, shared_store* in) noexcept {
  const std::size_t slack = length >= huge_page ? huge_page : 0;
  void* mapped_address = mmap(nullptr, length + slack, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped_address == MAP_FAILED) return nullptr;
  // Huge pages need an aligned start; the pages before and after the aligned part are unmapped.
  const auto start = reinterpret_cast<std::uintptr_t>(mapped_address);
  const std::uintptr_t aligned = slack != 0 ? round_to_page(start, huge_page) : start;
  if (aligned != start) munmap(mapped_address, aligned - start);
  if (const std::size_t rest = start + slack - aligned; rest != 0) {
    munmap(reinterpret_cast<void*>(aligned + length), rest);
  }
  auto* pages = reinterpret_cast<void*>(aligned);
  if (in != nullptr && !in->map_pages(pages, length)) {
    munmap(pages, length);
    return nullptr;
  }
  if (slack != 0) madvise(pages, length, MADV_HUGEPAGE);
  return pages;
}

// Caches recently freed mappings. A program that allocates and frees in a loop then reuses touched
// pages and avoids their page faults.
class mapping_cache {
 public:
  void* take(std::size_t length, const shared_store* in) noexcept {
    const std::lock_guard lock{mutex_};
    for (std::size_t i = count_; i-- > 0;) {
      if (kept_[i].length == length && kept_[i].in == in) return remove(i).at;
    }
    return nullptr;
  }

  void keep(void* at, std::size_t length, shared_store* in) noexcept {
    if (length > max_bytes) {
      unmap(at, length, in);
      return;
    }
    const std::lock_guard lock{mutex_};
    while (count_ == kept_.size() || bytes_ + length > max_bytes) {
      const mapping oldest = remove(0);
      unmap(oldest.at, oldest.length, oldest.in);
    }
    kept_[count_++] = {at, length, in};
    bytes_ += length;
  }

  // Returns all cached mappings to the system.
  void drop() noexcept {
    const std::lock_guard lock{mutex_};
    while (count_ != 0) {
      const mapping last = remove(count_ - 1);
      unmap(last.at, last.length, last.in);
    }
  }

 private:
  struct mapping {
    void* at;
    std::size_t length;
    shared_store* in;
  };
  static constexpr std::size_t max_bytes = std::size_t{256} << 20;

  mapping remove(std::size_t index) noexcept {
    const mapping taken = kept_[index];
    for (std::size_t i = index + 1; i < count_; ++i) kept_[i - 1] = kept_[i];
    --count_;
    bytes_ -= taken.length;
    return taken;
  }

  std::mutex mutex_;
  std::array<mapping, 64> kept_{};  // oldest first
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

constinit mapping_cache warm;

void* allocate_mapping(std::size_t bytes, shared_store* in) noexcept {
  const std::size_t length = mapping_length(bytes);
  if constexpr (asan_build) {
    auto* fresh = static_cast<std::byte*>(map_pages(length, in));
    if (fresh != nullptr && bytes < largest_watched) poison(fresh + bytes, length - bytes);
    return fresh;
  }
  if (void* cached = warm.take(length, in)) return cached;
  if (void* fresh = map_pages(length, in)) return fresh;
  warm.drop();
  return map_pages(length, in);
}

void free_mapping(void* at, std::size_t bytes, shared_store* in) noexcept {
  const std::size_t length = mapping_length(bytes);
  if constexpr (asan_build) {
    if (bytes < largest_watched) unpoison(at, length);
    unmap(at, length, in);
  } else {
    warm.keep(at, length, in);
  }
}

void* allocate_heap_block(std::size_t bytes) noexcept {
  void* block = nullptr;
  return posix_memalign(&block, backing::alignment, bytes) == 0 ? block : nullptr;
}

}  // namespace

backing backing::allocate(std::size_t bytes, device* from, shared_store* in) noexcept {
  constexpr std::size_t largest = std::size_t{1} << 47;  // the address space of today's processors
  if (bytes > largest) return {};
  if (from != nullptr && !from->reserve_memory(bytes)) return {};
  void* at = is_mapped(bytes, in) ? allocate_mapping(bytes, in) : allocate_heap_block(bytes);
  if (at == nullptr) {
    if (from != nullptr) from->release_memory(bytes);
    return {};
  }
  return backing{at, bytes, from, in};
}

void backing::drop_pages(void* at, std::size_t bytes) noexcept {
  if (is_mapped(bytes, nullptr)) madvise(at, mapping_length(bytes), MADV_DONTNEED);
}

void backing::deallocate(void* at, std::size_t bytes, device* from, shared_store* in) noexcept {
  if (is_mapped(bytes, in)) {
    free_mapping(at, bytes, in);
  } else {
    std::free(at);
  }
  if (from != nullptr) from->release_memory(bytes);
}

}  // namespace weir::embedded::model
