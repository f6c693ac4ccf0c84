// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/shared_store.hpp - device memory that other processes may open.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "driver/abi.hpp"
#include "os/shared_memory.hpp"

namespace weir::embedded::model {

// A published piece of memory, as listed in the store's first pages.
struct shared_piece {
  std::atomic<unsigned long long> id{0};  // the allocation's ID; 0 if unused
  std::atomic<std::uint64_t> address{
      0};  // the address in the owning process, which is also the offset in the store
  std::atomic<std::uint64_t> bytes{0};
};

// The part of a store that all processes read: its owner, and the pieces that may be opened.
struct store_header {
  static constexpr std::uint64_t expected_magic = 0x31'65'72'6f'74'73'72'77;  // "wrstore1"
  static constexpr std::size_t capacity = 1 << 15;

  std::uint64_t magic;
  std::uint64_t identity;  // unique among stores
  std::int32_t process;
  std::int32_t device;          // the ordinal of the device that owns the memory
  abi::CUmemLocation location;  // the location of the memory: that device, or the host
  std::uint64_t reserved[4];
  std::array<shared_piece, capacity> pieces;
};

// A sparse segment as large as the address space. A block lies at the offset that equals its
// address. The store therefore needs no allocator, and adjacent blocks form one mapping of the
// system.
//
// Each device has a store for cuMemAlloc, and each shareable pool has its own. Reference-counted:
// by its creator and by its blocks.
//
// Thread safety: all members may be called from any thread.
class shared_store {
 public:
  // Creates a store with one reference, for memory at a location that counts against a device.
  // Returns null if the system cannot create it; memory then stays private.
  [[nodiscard]] static shared_store* create(int device,
                                            const abi::CUmemLocation& location) noexcept;

  // Returns the store for cuMemAlloc on a device, which is never destroyed. Returns null if the
  // system cannot create it.
  [[nodiscard]] static shared_store* for_device(int device) noexcept;

  void retain() noexcept { users_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;

  // Replaces untouched private pages by zeroed pages of the store. Returns false on failure.
  [[nodiscard]] bool map_pages(void* start_address, std::size_t bytes) noexcept;

  // Unmaps pages from map_pages() and frees them for all processes that have them open.
  void remove_pages(void* start_address, std::size_t bytes) noexcept;

  // Like remove_pages(), but keeps the addresses reserved by private pages.
  void replace_with_private(void* start_address, std::size_t bytes) noexcept;

  // Publishes a piece of the store. Returns its number, or -1 if the store has too many.
  [[nodiscard]] int publish(unsigned long long id, std::uintptr_t address,
                            std::size_t bytes) noexcept;
  void withdraw(int piece) noexcept;

  [[nodiscard]] const os::shared_memory& segment() const noexcept { return segment_; }
  [[nodiscard]] std::uint64_t identity() const noexcept { return header_->identity; }

 private:
  shared_store(os::shared_memory segment, store_header* header) noexcept
      : segment_{std::move(segment)}, header_{header} {}
  ~shared_store();

  os::shared_memory segment_;
  store_header* header_;
  std::atomic<int> users_{1};
  std::mutex mutex_;  // guards which pieces are in use
  int used_ = 0;      // pieces from this number on were never used
};

}  // namespace weir::embedded::model
