// model/pool_range.cpp - addresses from the system, and the chunks that stay warm.
#include "embedded/model/memory/pool/pool_range.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>

#include "embedded/model/ipc/shared_store.hpp"
#include "embedded/model/memory/poison.hpp"

namespace weir::embedded::model {

namespace {

// Of all pools together.
constexpr std::size_t max_warm_bytes = std::size_t{256} << 20;
constinit std::atomic<std::size_t> warm_bytes{0};

bool keep_warm(std::size_t bytes) noexcept {
  if (warm_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes <= max_warm_bytes) return true;
  warm_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

}  // namespace

bool pool_range::reserve(std::size_t bytes, std::size_t chunk_bytes) {
  for (; bytes >= chunk_bytes; bytes = bytes / 2 / chunk_bytes * chunk_bytes) {
    chunks_.assign(bytes / chunk_bytes, state::untouched);
    // One chunk more, so that the range can begin at a multiple of them.
    const std::size_t all = bytes + chunk_bytes;
    void* got = mmap(nullptr, all, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) continue;
    const auto start = reinterpret_cast<std::uintptr_t>(got);
    const std::uintptr_t aligned = (start + chunk_bytes - 1) / chunk_bytes * chunk_bytes;
    if (aligned != start) munmap(got, aligned - start);
    if (const std::size_t rest = start + all - aligned - bytes; rest != 0) {
      munmap(reinterpret_cast<void*>(aligned + bytes), rest);
    }
    at_ = reinterpret_cast<std::byte*>(aligned);
    bytes_ = bytes;
    chunk_bytes_ = chunk_bytes;
    madvise(at_, bytes_, MADV_HUGEPAGE);
    return true;
  }
  return false;
}

void pool_range::drop(shared_store* in) noexcept {
  if (at_ == nullptr) return;
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    if (chunks_[i] == state::in_store)
      in->replace_with_private(at_ + i * chunk_bytes_, chunk_bytes_);
    change(i, state::untouched);
  }
  unpoison(at_, touched_chunks_ * chunk_bytes_);  // to whoever gets the addresses next
  munmap(at_, bytes_);
  at_ = nullptr;
  touched_chunks_ = 0;
}

void pool_range::change(std::size_t chunk, state to) noexcept {
  if (chunks_[chunk] == state::warm) warm_bytes.fetch_sub(chunk_bytes_, std::memory_order_relaxed);
  chunks_[chunk] = to;
}

bool pool_range::commit(std::byte* at, std::size_t bytes, shared_store* in) noexcept {
  const auto first = static_cast<std::size_t>(at - at_) / chunk_bytes_;
  const std::size_t last = first + bytes / chunk_bytes_;
  touched_chunks_ = std::max(touched_chunks_, last);
  for (std::size_t i = first; i < last; ++i) {
    if (in == nullptr) {
      change(i, state::untouched);
    } else if (chunks_[i] != state::in_store) {
      if (!in->map_pages(at_ + i * chunk_bytes_, chunk_bytes_)) return false;
      change(i, state::in_store);
    }
  }
  return true;
}

void pool_range::decommit(std::byte* at, std::size_t bytes, shared_store* in) noexcept {
  const auto first = static_cast<std::size_t>(at - at_) / chunk_bytes_;
  for (std::size_t i = first; i < first + bytes / chunk_bytes_; ++i) {
    std::byte* const chunk = at_ + i * chunk_bytes_;
    if (chunks_[i] == state::in_store) {
      in->replace_with_private(chunk, chunk_bytes_);
      change(i, state::untouched);
    } else if (keep_warm(chunk_bytes_)) {
      change(i, state::warm);
    } else {
      madvise(chunk, chunk_bytes_, MADV_DONTNEED);
    }
  }
}

}  // namespace weir::embedded::model
