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

struct allocation;

// A piece: one allocation in a store that other processes may open. publish() adds it; withdraw()
// removes it.
struct shared_piece {
  std::atomic<unsigned long long> id{0};  // the allocation's ID; 0 if unused
  // The address in the owning process, which is also the offset in the store.
  std::atomic<std::uint64_t> address{0};
  std::atomic<std::uint64_t> bytes{0};
};

// The header of a store, which all processes read: the owner of the store, and the pieces that may
// be opened.
struct store_header {
  static constexpr std::uint64_t expected_magic = 0x31'65'72'6f'74'73'72'77;  // "wrstore1"
  static constexpr std::size_t capacity = 1 << 15;

  std::uint64_t magic;
  std::uint64_t identity;  // unique among stores
  std::int32_t process;
  std::int32_t device;          // the number of the device that owns the memory
  abi::CUmemLocation location;  // the location of the memory: that device, or the host
  std::uint64_t reserved[4];
  std::array<shared_piece, capacity> pieces;
};

// A store: a sparse shared memory segment as large as the address space, which holds device memory.
// A block of memory lies at the offset that equals its address in the owning process. The store
// therefore needs no allocator, and the system merges the mappings of adjacent blocks.
//
// Each device has a store for cuMemAlloc, and each shareable pool has its own. The creator and each
// mapped block hold a reference to the store.
//
// Thread safety: all members may be called from any thread.
class shared_store {
 public:
  // Creates a store with one reference, for memory at a location that counts against a device.
  // Returns null if the system cannot create the store. The caller then uses private memory.
  [[nodiscard]] static shared_store* create(int device,
                                            const abi::CUmemLocation& location) noexcept;

  // Returns the store for cuMemAlloc on a device, which is never destroyed. Returns null if the
  // system cannot create it.
  [[nodiscard]] static shared_store* for_device(int device) noexcept;

  // Releases one reference.
  void release() noexcept;

  // Replaces untouched private pages by zeroed pages of the store, and adds a reference. Returns
  // false if the system cannot map them.
  [[nodiscard]] bool map_pages(void* start_address, std::size_t bytes) noexcept;

  // Unmaps pages of map_pages() and releases their reference. Frees their memory, also for
  // processes that still have it open.
  void remove_pages(void* start_address, std::size_t bytes) noexcept;

  // Like remove_pages(), but keeps the addresses reserved by private pages.
  void replace_with_private(void* start_address, std::size_t bytes) noexcept;

  // Lets other processes open an allocation in the store, unless they already can. Returns the
  // index of its piece in store_header::pieces, or -1 if all entries are in use.
  [[nodiscard]] int publish(allocation& record) noexcept;
  // Undoes publish(). Does nothing if publish() was not called.
  void withdraw(allocation& record) noexcept;

  [[nodiscard]] const os::shared_memory& segment() const noexcept { return segment_; }
  [[nodiscard]] std::uint64_t identity() const noexcept { return header().identity; }

 private:
  shared_store(os::shared_memory segment, os::shared_pages header_pages) noexcept
      : segment_{std::move(segment)}, header_pages_{std::move(header_pages)} {}
  ~shared_store() = default;
  [[nodiscard]] store_header& header() const noexcept {
    return *reinterpret_cast<store_header*>(header_pages_.get());
  }

  os::shared_memory segment_;
  os::shared_pages header_pages_;
  std::atomic<int> users_{1};
  std::mutex mutex_;  // guards which pieces are in use, and allocation::piece
  int used_ = 0;      // pieces from this index on were never used
};

}  // namespace weir::embedded::model
