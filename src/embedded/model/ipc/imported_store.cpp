// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/imported_store.cpp - opens stores of other processes, and validates their
// contents.
#include "embedded/model/ipc/imported_store.hpp"

#include "os/pages.hpp"

namespace weir::embedded::model {

imported_store imported_store::open(os::shared_memory segment) noexcept {
  imported_store opened;
  if (!segment.is_sealed() || segment.bytes() < sizeof(store_header)) return opened;
  os::shared_pages header = segment.map(0, sizeof(store_header));
  if (!header ||
      reinterpret_cast<const store_header*>(header.get())->magic != store_header::expected_magic)
    return opened;
  opened.segment_ = std::move(segment);
  opened.header_ = std::move(header);
  return opened;
}

imported_store::piece imported_store::map(const ipc_identity& wanted) const noexcept {
  const auto number = static_cast<std::size_t>(wanted.number);
  if (wanted.identity != identity() || wanted.id == 0 || number >= store_header::capacity)
    return {};
  const shared_piece& entry = header().pieces[number];
  if (entry.id.load(std::memory_order_acquire) != wanted.id) return {};
  const std::uint64_t address = entry.address.load(std::memory_order_relaxed);
  const std::uint64_t bytes = entry.bytes.load(std::memory_order_relaxed);
  // The owner may free the piece and publish another one while this function reads its address and
  // size. The fence orders the second check of the ID after these reads.
  std::atomic_thread_fence(std::memory_order_acquire);
  if (entry.id.load(std::memory_order_relaxed) != wanted.id) return {};
  if (bytes == 0 || address + bytes < address || address + bytes > segment_.bytes()) return {};
  const os::page_span whole_pages = os::pages_around(address, bytes);
  os::shared_pages pages = segment_.map(whole_pages.offset, whole_pages.bytes);
  if (!pages) return {};
  return {std::move(pages), address - whole_pages.offset, bytes};
}

}  // namespace weir::embedded::model
