// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/imported_store.cpp - opens stores of other processes, and validates their
// contents.
#include "embedded/model/ipc/imported_store.hpp"

#include <sys/mman.h>

namespace weir::embedded::model {

namespace {

constexpr std::size_t page_bytes = 4096;

}  // namespace

imported_mapping::~imported_mapping() {
  if (address_ != nullptr) munmap(address_, bytes_);
}

imported_store imported_store::open(os::shared_memory segment) noexcept {
  imported_store opened;
  if (!segment.is_sealed() || segment.bytes() < sizeof(store_header)) return opened;
  imported_mapping header{segment.map(0, sizeof(store_header)), sizeof(store_header)};
  if (!header ||
      reinterpret_cast<const store_header*>(header.get())->magic != store_header::expected_magic)
    return opened;
  opened.segment_ = std::move(segment);
  opened.header_ = std::move(header);
  return opened;
}

imported_store::piece imported_store::map(const piece_id& id) const noexcept {
  const auto number = static_cast<std::size_t>(id.number);
  if (id.store != identity() || id.id == 0 || number >= store_header::capacity) return {};
  const shared_piece& entry = header().pieces[number];
  if (entry.id.load(std::memory_order_acquire) != id.id) return {};
  const std::uint64_t address = entry.address.load(std::memory_order_relaxed);
  const std::uint64_t bytes = entry.bytes.load(std::memory_order_relaxed);
  const std::uint64_t first = address / page_bytes * page_bytes;
  // The owner may free the piece and publish another one while this function reads its address and
  // size. The fence orders the second check of the ID after these reads.
  std::atomic_thread_fence(std::memory_order_acquire);
  if (entry.id.load(std::memory_order_relaxed) != id.id) return {};
  if (bytes == 0 || address + bytes < address || address + bytes > segment_.bytes()) return {};
  const std::size_t length = (address + bytes - first + page_bytes - 1) / page_bytes * page_bytes;
  imported_mapping pages{segment_.map(first, length), length};
  if (!pages) return {};
  return {std::move(pages), address - first, bytes};
}

}  // namespace weir::embedded::model
