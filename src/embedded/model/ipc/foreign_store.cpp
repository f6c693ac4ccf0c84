// model/foreign_store.cpp - opening the stores of other processes, which are not believed without a look.
#include "embedded/model/ipc/foreign_store.hpp"

#include <sys/mman.h>

namespace weir::embedded::model {

namespace {

constexpr std::size_t page = 4096;

}  // namespace

foreign_mapping::~foreign_mapping() {
  if (at_ != nullptr) munmap(at_, bytes_);
}

foreign_store foreign_store::open(shared_memory segment) noexcept {
  foreign_store opened;
  if (!segment.is_sealed() || segment.bytes() < sizeof(store_front)) return opened;
  foreign_mapping front{segment.map(0, sizeof(store_front)), sizeof(store_front)};
  if (!front || reinterpret_cast<const store_front*>(front.get())->mark != store_front::right_mark) return opened;
  opened.segment_ = std::move(segment);
  opened.front_ = std::move(front);
  return opened;
}

foreign_store::piece foreign_store::map(const piece_name& name) const noexcept {
  const auto number = static_cast<std::size_t>(name.number);
  if (name.store != identity() || name.id == 0 || number >= store_front::capacity) return {};
  const shared_piece& told = front().pieces[number];
  if (told.id.load(std::memory_order_acquire) != name.id) return {};
  const std::uint64_t address = told.address.load(std::memory_order_relaxed);
  const std::uint64_t bytes = told.bytes.load(std::memory_order_relaxed);
  const std::uint64_t first = address / page * page;
  // The owner may have given it back, and another piece be there now, while it was read: the fence keeps the second look behind.
  std::atomic_thread_fence(std::memory_order_acquire);
  if (told.id.load(std::memory_order_relaxed) != name.id) return {};
  if (bytes == 0 || address + bytes < address || address + bytes > segment_.bytes()) return {};
  const std::size_t length = (address + bytes - first + page - 1) / page * page;
  foreign_mapping pages{segment_.map(first, length), length};
  if (!pages) return {};
  return {std::move(pages), address - first, bytes};
}

}  // namespace weir::embedded::model
