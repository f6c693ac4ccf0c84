// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/shared_store.cpp - stores of device memory, and the list of published pieces.
#include "embedded/model/ipc/shared_store.hpp"

#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <new>

#include "embedded/model/memory/allocation.hpp"
#include "os/pages.hpp"

namespace weir::embedded::model {

namespace {

constexpr std::size_t all_addresses = std::size_t{1} << 47;

// The header lies at the start of the segment. No block uses these offsets, because the system
// allocates no addresses that low.
constexpr std::size_t header_bytes = os::round_up(sizeof(store_header), os::page_bytes);
static_assert(header_bytes <= std::size_t{1} << 20);

constexpr int max_devices = 64;

}  // namespace

shared_store* shared_store::create(int device, const abi::CUmemLocation& location) noexcept {
  os::shared_memory segment = os::shared_memory::create(all_addresses, "weir-device");
  if (!segment) return nullptr;
  os::shared_pages header_pages = segment.map(0, header_bytes);
  if (!header_pages) return nullptr;
  auto& header = *reinterpret_cast<store_header*>(header_pages.get());
  if (getrandom(&header.identity, sizeof header.identity, 0) != sizeof header.identity)
    return nullptr;
  header.process = getpid();
  header.device = device;
  header.location = location;
  header.magic = store_header::expected_magic;
  return new (std::nothrow) shared_store{std::move(segment), std::move(header_pages)};
}

shared_store* shared_store::for_device(int device) noexcept {
  static constinit std::array<std::atomic<shared_store*>, max_devices> stores{};
  static constinit std::mutex creation_mutex;
  if (device < 0 || device >= max_devices) return nullptr;
  std::atomic<shared_store*>& device_store = stores[static_cast<std::size_t>(device)];
  if (shared_store* store = device_store.load(std::memory_order_acquire)) return store;
  const std::lock_guard lock{creation_mutex};
  shared_store* store = device_store.load(std::memory_order_acquire);
  if (store == nullptr) {
    store = create(device, {abi::CU_MEM_LOCATION_TYPE_DEVICE, device});
    device_store.store(store, std::memory_order_release);
  }
  return store;
}

void shared_store::release() noexcept {
  if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

bool shared_store::map_pages(void* start_address, std::size_t bytes) noexcept {
  if (!segment_.map_at(start_address, reinterpret_cast<std::uintptr_t>(start_address), bytes))
    return false;
  users_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void shared_store::remove_pages(void* start_address, std::size_t bytes) noexcept {
  madvise(start_address, bytes, MADV_REMOVE);
  munmap(start_address, bytes);
  release();
}

void shared_store::replace_with_private(void* start_address, std::size_t bytes) noexcept {
  madvise(start_address, bytes, MADV_REMOVE);
  mmap(start_address, bytes, PROT_READ | PROT_WRITE,
       MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  release();
}

int shared_store::publish(allocation& record) noexcept {
  const std::lock_guard lock{mutex_};
  if (const int published = record.piece.load(std::memory_order_relaxed); published >= 0)
    return published;
  int number = 0;
  while (number < used_ && header().pieces[static_cast<std::size_t>(number)].id.load(
                               std::memory_order_relaxed) != 0) {
    ++number;
  }
  if (number == static_cast<int>(store_header::capacity)) return -1;
  if (number == used_) ++used_;
  shared_piece& piece = header().pieces[static_cast<std::size_t>(number)];
  // With this fence, a reader that reads the new address or size also finds that the ID has changed
  // (imported_store::map()).
  std::atomic_thread_fence(std::memory_order_release);
  piece.address.store(record.start(), std::memory_order_relaxed);
  piece.bytes.store(record.bytes.load(std::memory_order_relaxed), std::memory_order_relaxed);
  piece.id.store(record.id, std::memory_order_release);
  record.piece.store(number, std::memory_order_relaxed);
  return number;
}

void shared_store::withdraw(allocation& record) noexcept {
  const std::lock_guard lock{mutex_};
  const int number = record.piece.exchange(-1, std::memory_order_relaxed);
  if (number < 0) return;
  header().pieces[static_cast<std::size_t>(number)].id.store(0, std::memory_order_release);
}

}  // namespace weir::embedded::model
