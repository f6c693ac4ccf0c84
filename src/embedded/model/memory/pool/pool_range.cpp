// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/pool/pool_range.cpp - reserves addresses, and keeps pages of unused chunks.
#include "embedded/model/memory/pool/pool_range.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>

#include "embedded/model/ipc/shared_store.hpp"
#include "embedded/model/memory/freed_memory.hpp"
#include "os/pages.hpp"
#include "os/poison.hpp"

namespace weir::embedded::model {

namespace {

// The limit of kept_bytes: the bytes of all unused chunks, in all pools, whose pages are kept for
// the next use.
constexpr std::size_t max_kept_bytes = std::size_t{256} << 20;
constinit std::atomic<std::size_t> kept_bytes{0};

// Adds to kept_bytes for a chunk that shall keep its pages. Returns false without adding if the sum
// would exceed the limit.
bool try_keep_pages(std::size_t bytes) noexcept {
  if (kept_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes <= max_kept_bytes) return true;
  kept_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

}  // namespace

bool pool_range::reserve(std::size_t bytes, std::size_t chunk_bytes) {
  for (; bytes >= chunk_bytes; bytes = bytes / 2 / chunk_bytes * chunk_bytes) {
    chunks_.assign(bytes / chunk_bytes, state::untouched);
    void* const mapped = os::map_aligned(bytes, chunk_bytes, PROT_READ | PROT_WRITE);
    if (mapped == nullptr) continue;
    address_ = static_cast<std::byte*>(mapped);
    bytes_ = bytes;
    chunk_bytes_ = chunk_bytes;
    madvise(address_, bytes_, MADV_HUGEPAGE);
    return true;
  }
  return false;
}

void pool_range::unmap(shared_store* store) noexcept {
  if (address_ == nullptr) return;
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    if (chunks_[i] == state::in_store)
      store->replace_with_private(address_ + i * chunk_bytes_, chunk_bytes_);
    set_state(i, state::untouched);
  }
  os::unpoison(address_, touched_chunks_ * chunk_bytes_);  // for the next owner of the addresses
  freed_memory::release_pages(address_, bytes_);
  address_ = nullptr;
  touched_chunks_ = 0;
}

void pool_range::set_state(std::size_t chunk, state new_state) noexcept {
  if (chunks_[chunk] == state::unused_with_pages)
    kept_bytes.fetch_sub(chunk_bytes_, std::memory_order_relaxed);
  chunks_[chunk] = new_state;
}

bool pool_range::commit(std::byte* address, std::size_t bytes, shared_store* store) noexcept {
  const auto first = static_cast<std::size_t>(address - address_) / chunk_bytes_;
  const std::size_t last = first + bytes / chunk_bytes_;
  touched_chunks_ = std::max(touched_chunks_, last);
  for (std::size_t i = first; i < last; ++i) {
    allow_access(i);
    if (store == nullptr) {
      set_state(i, state::untouched);
    } else if (chunks_[i] != state::in_store) {
      if (!store->map_pages(address_ + i * chunk_bytes_, chunk_bytes_)) return false;
      set_state(i, state::in_store);
    }
  }
  return true;
}

void pool_range::allow_access(std::size_t chunk) noexcept {
  if (chunks_[chunk] != state::inaccessible) return;
  mprotect(address_ + chunk * chunk_bytes_, chunk_bytes_, PROT_READ | PROT_WRITE);
  set_state(chunk, state::untouched);
}

void pool_range::refuse_access(std::size_t chunk) noexcept {
  std::byte* const pages = address_ + chunk * chunk_bytes_;
  madvise(pages, chunk_bytes_, MADV_DONTNEED);
  mprotect(pages, chunk_bytes_, PROT_NONE);
  set_state(chunk, state::inaccessible);
}

void pool_range::keep_or_drop_pages(std::size_t chunk) noexcept {
  if (try_keep_pages(chunk_bytes_)) {
    set_state(chunk, state::unused_with_pages);
  } else {
    madvise(address_ + chunk * chunk_bytes_, chunk_bytes_, MADV_DONTNEED);
  }
}

void pool_range::decommit(std::byte* address, std::size_t bytes, shared_store* store,
                          unused_access access) noexcept {
  const auto first = static_cast<std::size_t>(address - address_) / chunk_bytes_;
  for (std::size_t i = first; i < first + bytes / chunk_bytes_; ++i) {
    const bool was_in_store = chunks_[i] == state::in_store;
    if (was_in_store) {
      store->replace_with_private(address_ + i * chunk_bytes_, chunk_bytes_);
      set_state(i, state::untouched);
    }
    if (access == unused_access::refused) {
      refuse_access(i);
    } else if (!was_in_store) {
      keep_or_drop_pages(i);
    }
  }
}

}  // namespace weir::embedded::model
